/**
 * Finds which tables a statement may need from the words in the statement. If the patterns match too much, this only
 * costs time. If they match too little, a table would be empty.
 */

/** Returns true if a statement may read the platform's tables. */
export function namesPlatform(sql: string): boolean {
  return /\b"?(platform|agent|api)"?\s*\.|\ball_(sessions|messages|usage)\b/i.test(sql);
}

/**
 * Returns true if a statement uses a table that has only rows of Claude Code. The tables `all_…` also have rows of the
 * platform.
 */
export function namesClaude(sql: string): boolean {
  const words = sql.replaceAll(/'(?:[^']|'')*'/g, "''");
  return /\bclaude_(conversations|plans|todos|history|stats)\b|\bclaude"?\s*\./i.test(words);
}

/** Returns true if a statement may read the schema `history`, which has the sessions of all coding agents. */
export function namesHistory(sql: string): boolean {
  return /\bhistory"?\s*\./i.test(sql.replaceAll(/'(?:[^']|'')*'/g, "''"));
}

/** Returns true if a statement may read transcripts. */
export function namesTranscripts(sql: string): boolean {
  return namesClaude(sql) || namesHistory(sql) || /\ball_(sessions|messages|usage)\b|\bskein"?\s*\./i.test(sql);
}

/**
 * Returns true if a statement may depend on Claude Code's files: if the statement uses their tables or a function that
 * reads files, or lists tables.
 */
export function mayReadHistory(sql: string): boolean {
  return (
    namesTranscripts(sql) ||
    /\b(show|describe|summarize|pragma\w*|information_schema|duckdb_\w+|pg_\w+|sqlite_\w+)\b|(^|\()\s*desc\b/i.test(
      sql,
    ) ||
    /\b(read_\w+|glob|sniff_csv|query|query_table)\s*\(|\b(from|join)\s*['"]|\bfrom\b[^;]*,\s*['"]/i.test(sql)
  );
}

/**
 * The tables of Claude Code's small files (all files except transcripts), and the lists of sessions. Each table has a
 * pattern for statements that use the table.
 */
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
  // The schema `history` is made only if a statement contains its name outside of a text. For example,
  // 'out/history.sessions.parquet' is a file.
  return namesHistory(sql) ? named : named.filter((table) => table !== "history.sessions");
}
