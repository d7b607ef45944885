/**
 * Writes Claude Code's tables as plain SQL for `skein sql init`, for a DuckDB shell without Skein.
 *
 * The views are equal to Skein's views. In JavaScript, Skein also finds files, reads small files, and reads lines that
 * DuckDB cannot read. Here SQL does this as far as possible, and the header of the file lists the differences.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { existingRoots, isDataNotFoundError } from "@skein/history/discover";
import { literal } from "../database/quote.ts";
import { CLAUDE_TABLES } from "../tables/claude-tables.ts";
import { SCAN, pieceViews } from "../tables/pieces.ts";
import { isTranscript, READ_MACROS, textFiles } from "./read-macros.ts";
import { OBJECTS } from "../tables/scan.ts";
import { BASE, scanSql } from "../tables/schema.ts";
import { MAIN_TABLES } from "../tables/main-tables.ts";

export async function initSql(root: string = usualRoot()): Promise<string> {
  const { machineTags } = await import("@skein/history/format");
  const statements = [
    `SET VARIABLE skein_root = ${literal(resolve(root))};`,
    FIND,
    again(BASE),
    promptMacro(machineTags),
    FILES,
    again(scanSql({ numbered: true })),
    again(pieceViews({ schemas: [SCAN] })),
    again(OBJECTS),
    again(MAIN_TABLES),
    again(CLAUDE_TABLES),
    SMALL,
    READ_MACROS,
  ];
  return `${HEADER}\n${statements.map((text) => text.trim()).join("\n\n")}\n`;
}

/** Returns the first data directory that exists, or `~/.claude` if none exists. */
function usualRoot(): string {
  try {
    return existingRoots({})[0] ?? "";
  } catch (error) {
    if (error instanceof Error && isDataNotFoundError(error)) return join(homedir(), ".claude");
    throw error;
  }
}

/** Makes statements repeatable, so running the file again updates all tables. */
function again(sql: string): string {
  return sql
    .replaceAll(/CREATE SCHEMA (?!IF)/g, "CREATE SCHEMA IF NOT EXISTS ")
    .replaceAll(/CREATE (TABLE|VIEW|MACRO) /g, "CREATE OR REPLACE $1 ");
}

const HEADER = `-- Claude Code's data as tables, for the stock DuckDB shell:
--
--     skein sql init > skein.sql
--     duckdb -init skein.sql
--
-- The tables are those of "skein sql --schema" without the platform's: claude_conversations, claude_plans, claude_todos,
-- claude_history and claude_stats, and the schema claude.
-- What differs here from Skein:
--   - Files are found when this file runs. Run it again (.read skein.sql) to see new files. At least one transcript must exist.
--   - Lines that DuckDB cannot read (a lone surrogate, a byte that is not UTF-8, two records in one line) are only in
--     claude.damage. Skein repairs them and also shows them in the other tables.
--   - A line of more than 64 MiB ends a statement with an error. Every statement reads all files; there is no cached copy.
--   - Lines are numbered anew in every statement. A file that grows meanwhile shifts the line numbers of the files after it.
--   - human_prompt, the titles of sessions and branches follow simpler rules.
--   - read_conversations and the other functions of the agent_data extension need a path: read_plans('/home/me/.claude').
--     path := '…' works, path = '…' does not. A directory without such files is an error.
`;

const FIND = `
SET VARIABLE skein_files = coalesce((SELECT list(file ORDER BY file) FROM glob(getvariable('skein_root') || '/projects/**/*.jsonl') WHERE ${isTranscript("file")}),
  error('There is no transcript in ' || getvariable('skein_root') || '/projects. Choose another data directory with "skein sql init --root DIR".'));
SET VARIABLE skein_all_files = getvariable('skein_files');
SET VARIABLE skein_tolerant = true;
SET VARIABLE skein_line_bytes = 67108864;`;

/** Returns the SQL function `skein_prompt`, which uses a simpler rule than the history library. */
function promptMacro(machineTags: readonly string[]): string {
  const tags = machineTags.join("|");
  return `
CREATE OR REPLACE MACRO skein_prompt(message) AS nullif(regexp_replace(regexp_replace(regexp_replace(
    CASE WHEN json_type(message, '$.content') = 'VARCHAR' THEN json_extract_string(message, '$.content')
      ELSE array_to_string(json_extract_string(message, '$.content[*].text'), chr(10)) END,
  '^(\\s*<(${tags})(\\s[^>]*)?>(?s:.*?)</(${tags})>)+', ''), '^\\s+|\\s+$', '', 'g'),
  '^(?s:(\\[Request interrupted by user[^\\]]*\\]\\s*$|Caveat: .*|<(${tags})(\\s[^>]*)?>.*))', ''), '');`;
}

const READ =
  "format = 'newline_delimited', ignore_errors = true, maximum_object_size = getvariable('skein_line_bytes')";

const FILES = `
INSERT INTO skein.files
WITH lines AS (
  SELECT file_index::BIGINT AS place, row_number() OVER () AS n, cwd, "sessionId" AS session_id
  FROM read_ndjson(getvariable('skein_files'), columns = {cwd: 'VARCHAR', 'sessionId': 'VARCHAR'}, records = 'true', ${READ})
), heads AS (
  SELECT place, arg_min(cwd, n) AS cwd, arg_min(session_id, n) AS session_id, count(*) AS rows FROM lines GROUP BY place
), found AS (
  SELECT place, file, string_split(split_part(file, '/projects/', -1), '/') AS parts
  FROM (SELECT unnest(getvariable('skein_files')) AS file, generate_subscripts(getvariable('skein_files'), 1) - 1 AS place)
), named AS (
  SELECT *, parts[-1] AS name, if(starts_with(parts[-1], 'agent-'), 'agent', 'session') AS kind FROM found
), known AS (
  SELECT n.place, n.file, n.parts[1] AS folder, n.kind,
    CASE WHEN contains(n.file, '/workflows/') THEN 'workflow' WHEN len(n.parts) > 2 THEN 'subagents'
      WHEN n.kind = 'agent' THEN 'legacy' ELSE 'main' END AS layout,
    CASE WHEN len(n.parts) > 2 THEN n.parts[2] WHEN n.kind = 'agent' THEN h.session_id
      ELSE regexp_replace(n.name, '\\.jsonl$', '') END AS session_id,
    nullif(regexp_extract(n.name, '^agent-(.+)\\.jsonl$', 1), '') AS agent_id,
    nullif(regexp_extract(n.file, '/workflows/([^/]+)/', 1), '') AS workflow_id, h.cwd, coalesce(h.rows, 0) AS rows
  FROM named n LEFT JOIN heads h USING (place)
)
SELECT place, place, file, getvariable('skein_root'), folder, kind, layout, session_id, agent_id, workflow_id,
  coalesce(first_value(if(kind = 'session', cwd, NULL)) OVER (PARTITION BY folder, session_id ORDER BY kind DESC, place), cwd, folder),
  NULL, NULL,
  (coalesce(sum(rows) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))::BIGINT,
  (coalesce(sum(rows) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))::BIGINT, 'claude-code'
FROM known;

INSERT INTO scan.damage
SELECT f.place, o.n - f.first_row, 'not-json', 'not one whole JSON object'
FROM (
  SELECT file_index::BIGINT AS place, row_number() OVER () AS n, json FROM read_ndjson_objects(getvariable('skein_files'), ${READ})
) o JOIN skein.files f USING (place)
WHERE o.json IS NULL OR json_type(o.json) <> 'OBJECT';`;

/**
 * The patterns of small files. Each list of files is a variable, because DuckDB's readers accept no subquery. An empty
 * list would be an error, so a list without files contains /dev/null.
 */
const LISTS = {
  plans: "/plans/*.md",
  todos: "/todos/*.json",
  history: "/history.jsonl",
  stats: "/stats-cache.json",
  tasks: "/tasks/*/*.json",
  metas: "/projects/**/*.meta.json",
};
const lists = Object.entries(LISTS).map(
  ([name, pattern]) =>
    `SET VARIABLE skein_${name} = coalesce((SELECT list(file ORDER BY file) FROM glob(getvariable('skein_root') || '${pattern}')), ['/dev/null']);`,
);
const texts = (name: keyof typeof LISTS): string => textFiles(`getvariable('skein_${name}')`);

const SMALL = `
${lists.join("\n")}

INSERT INTO main.claude_plans
SELECT parse_filename(filename, true), parse_filename(filename, true), content, size, NULL, last_modified::TIMESTAMP, filename
FROM ${texts("plans")};

INSERT INTO main.claude_todos
SELECT regexp_extract(parse_filename(filename, true), '^(.*)-agent-', 1), regexp_extract(parse_filename(filename, true), '-agent-(.*)$', 1),
  place, json_extract_string(item, '$.content'), json_extract_string(item, '$.status'), json_extract_string(item, '$.activeForm'), filename
FROM (
  SELECT filename, unnest(json_extract(content::JSON, '$[*]')) AS item, generate_subscripts(json_extract(content::JSON, '$[*]'), 1) - 1 AS place
  FROM ${texts("todos")} WHERE json_valid(content)
);

INSERT INTO main.claude_history
SELECT epoch_ms(TRY_CAST(json_extract_string(line, '$.timestamp') AS BIGINT)), json_extract_string(line, '$.project'),
  json_extract_string(line, '$.sessionId'), json_extract_string(line, '$.display'), json_extract(line, '$.pastedContents'), filename, place
FROM (
  SELECT filename, unnest(lines) AS line, generate_subscripts(lines, 1) AS place
  FROM (SELECT filename, string_split(content, chr(10)) AS lines FROM ${texts("history")})
) WHERE json_valid(line) AND json_type(line) = 'OBJECT' AND json_type(line, '$.display') = 'VARCHAR';

INSERT INTO skein.stats_cache
SELECT TRY_CAST(json_extract_string(day, '$.date') AS DATE) AS date, sum(TRY_CAST(json_extract_string(day, '$.messageCount') AS INTEGER)),
  sum(TRY_CAST(json_extract_string(day, '$.sessionCount') AS INTEGER)), sum(TRY_CAST(json_extract_string(day, '$.toolCallCount') AS INTEGER))
FROM (SELECT unnest(json_extract(content::JSON, '$.dailyActivity[*]')) AS day FROM ${texts("stats")} WHERE json_valid(content))
GROUP BY date HAVING date IS NOT NULL;

INSERT INTO claude.tasks
SELECT string_split(filename, '/')[-2], json_extract_string(content, '$.id'), json_extract_string(content, '$.subject'),
  json_extract_string(content, '$.description'), json_extract_string(content, '$.status'), json_extract_string(content, '$.activeForm'),
  json_extract_string(content, '$.owner'), json_extract(content, '$.blocks'), json_extract(content, '$.blockedBy'),
  json_extract(content, '$.metadata'), last_modified::TIMESTAMP, filename
FROM ${texts("tasks")} WHERE json_valid(content);

INSERT INTO skein.agent_metas
SELECT regexp_replace(filename, '\\.meta\\.json$', '.jsonl'), content::JSON FROM ${texts("metas")} WHERE json_valid(content);

INSERT INTO scan.branch
SELECT f.place, m.parent_uuid, list(m.uuid ORDER BY m.line), list(m.human_prompt ORDER BY m.line), min(m.timestamp), max(m.timestamp)
FROM claude.messages m JOIN skein.files f USING (file)
WHERE m.human_prompt IS NOT NULL AND m.parent_uuid IS NOT NULL AND f.kind = 'session'
GROUP BY f.place, m.parent_uuid HAVING count(DISTINCT m.uuid) > 1 AND count(DISTINCT m.timestamp) > 1;

INSERT INTO claude.sessions
SELECT f.session_id, f.project_path, arg_min(m.human_prompt, m.line), min(m.timestamp), max(m.timestamp), count(m.line)::INTEGER,
  (SELECT count(*) FROM skein.files a WHERE a.kind = 'agent' AND a.session_id = f.session_id AND a.folder = f.folder)::INTEGER,
  max(m.version), arg_max(m.git_branch, m.line), NULL, f.file
FROM skein.files f LEFT JOIN claude.messages m USING (file)
WHERE f.kind = 'session' GROUP BY f.session_id, f.project_path, f.folder, f.file;`;
