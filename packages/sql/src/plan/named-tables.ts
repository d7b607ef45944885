/**
 * Which tables a statement may need, judged by its words. Filling an unneeded table only costs time, but a missed table
 * would be empty, so the patterns match too much rather than too little.
 */

/** Whether a statement may read the platform's tables. */
export function namesPlatform(sql: string): boolean {
  return /\b"?(platform|agent|api)"?\s*\.|\ball_(sessions|messages|usage)\b/i.test(sql);
}

/** Whether a statement reads only Claude Code's files: `all_…` also has the platform's rows. */
export function namesClaude(sql: string): boolean {
  const words = sql.replaceAll(/'(?:[^']|'')*'/g, "''");
  return /\bclaude_(conversations|plans|todos|history|stats)\b|\bclaude"?\s*\./i.test(words);
}

/** Whether a statement reads the sessions of all agents. */
export function namesHistory(sql: string): boolean {
  return /\bhistory"?\s*\./i.test(sql.replaceAll(/'(?:[^']|'')*'/g, "''"));
}

/** Whether a statement may read transcripts. */
export function namesTranscripts(sql: string): boolean {
  return namesClaude(sql) || namesHistory(sql) || /\ball_(sessions|messages|usage)\b|\bskein"?\s*\./i.test(sql);
}

/** Whether a statement may depend on Claude Code's files in any way: by their tables, by a function that reads files, or because it lists the tables. */
export function mayReadHistory(sql: string): boolean {
  return (
    namesTranscripts(sql) ||
    /\b(show|describe|summarize|pragma\w*|information_schema|duckdb_\w+|pg_\w+|sqlite_\w+)\b|(^|\()\s*desc\b/i.test(
      sql,
    ) ||
    /\b(read_\w+|glob|sniff_csv|query|query_table)\s*\(|\b(from|join)\s*['"]|\bfrom\b[^;]*,\s*['"]/i.test(sql)
  );
}

/** The tables of Claude Code's small files (everything but transcripts), each with the word that names it. */
const SMALL_TABLES = {
  "main.claude_plans": /plans/i,
  "main.claude_todos": /todos/i,
  "main.claude_history": /history/i,
  "skein.stats_cache": /stats/i,
  "claude.tasks": /tasks/i,
  "claude.sessions": /sessions/i,
  "history.sessions": /\bhistory"?\s*\.\s*"?sessions/i,
  "skein.agent_metas": /agents/i,
} as const;

export type SmallTable = keyof typeof SMALL_TABLES;

export function smallTablesIn(sql: string): readonly SmallTable[] {
  const named = (Object.keys(SMALL_TABLES) as SmallTable[]).filter((table) => SMALL_TABLES[table].test(sql));
  // The schema `history` is only made for statements that name it outside of a text: 'out/history.sessions.parquet' is a file.
  return namesHistory(sql) ? named : named.filter((table) => table !== "history.sessions");
}
