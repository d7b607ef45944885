/**
 * The pieces from which the tables are composed. A piece has the rows that can be computed from one transcript alone.
 *
 * A piece is read from the files (by the query here) or from the cached copy (a table with the same name and columns).
 * Both have `place`, the number of the file. A piece uses line numbers only if `line` is selected, because only one
 * thread can number lines. Before a text is parsed, DuckDB searches the text for a word that the text must contain. The
 * word begins with a rare character, because DuckDB searches for the first character first.
 */
import { BATCH_ANSWERS, BATCH_ROWS } from "./batch.ts";
import { NO_REQUESTS, requests } from "./requests.ts";

/** Expressions for the lines and the parts of their messages, in the queries of the pieces. */
interface Lines {
  /** The table of lines. */
  readonly rows: string;
  /** The table of lines with the fields for the cost of a call. */
  readonly answers: string;
  /** Returns the message of a line as a structure with at least these fields. */
  said(shape: string): string;
  /** Returns a field of the message as text. */
  text(field: string): string;
  json(field: string): string;
  /** The text of the tool result in block `b`, which is the block with the number `i`. */
  readonly result: string;
  /** The text of the message. */
  readonly messageText: string;
}

/** Reads lines from files. A query parses only the parts of a line that it needs. */
const SCANNED: Lines = {
  rows: "scan.rows",
  answers: "scan.answers",
  said: (shape) => `json_transform(message, '${shape}')`,
  text: (field) => `json_extract_string(message, '$.${field}')`,
  json: (field) => `json_extract(message, '$.${field}')`,
  result:
    "skein.result_text(nullif(json_extract(message, '$.content[' || (i - 1) || '].content')::VARCHAR, 'null')::JSON)",
  messageText: "skein.text_of(json_extract(message, '$.content'))",
};

/** Reads lines from a batch, where each message is parsed once for all pieces. */
const BATCHED: Lines = {
  rows: BATCH_ROWS,
  answers: BATCH_ANSWERS,
  said: () => "said",
  text: (field) => `said.${field}`,
  json: (field) => `said.${field}`,
  result: "skein.block_text(message, b, i)",
  messageText: "skein.message_text(message, said.content, said.content[1])",
};

const CONTENT = JSON.stringify({
  content: [{ type: "VARCHAR", text: "VARCHAR", thinking: "VARCHAR", content: "VARCHAR" }],
});
const SAID = JSON.stringify({
  id: "VARCHAR",
  role: "VARCHAR",
  model: "VARCHAR",
  stop_reason: "VARCHAR",
  content: [{ type: "VARCHAR", text: "VARCHAR", thinking: "VARCHAR" }],
});
const CALLS = JSON.stringify({
  id: "VARCHAR",
  model: "VARCHAR",
  content: [{ type: "VARCHAR", id: "VARCHAR", name: "VARCHAR", input: "JSON" }],
});
/** The blocks of tool results without their content, because the content is long and few queries need it. */
const RESULTS = JSON.stringify({ content: [{ type: "VARCHAR", tool_use_id: "VARCHAR", is_error: "VARCHAR" }] });

const conversation = (lines: Lines): string => `
SELECT place, line, uuid AS message_uuid, parent_uuid, type AS message_type,
  skein.time(timestamp_text) AS timestamp,
  coalesce(skein.message_text(message, blocks, block), skein.text_of(content), summary) AS content,
  ${lines.text("model")} AS model,
  CASE WHEN contains(message::VARCHAR, '_use"') THEN nullif(to_json(list_filter(
    json_extract(message, '$.content[*]'), lambda b: json_extract_string(b, '$.type') = 'tool_use'))::VARCHAR, '[]')::JSON END AS tool_uses,
  ${lines.json("usage")} AS token_usage, slug, git_branch, cwd, line_agent_id,
  skein.is_true(is_sidechain_text) AS is_sidechain
FROM (SELECT *, blocks[1] AS block FROM (SELECT *, ${lines.said(CONTENT)}.content AS blocks FROM ${lines.rows}))`;

/**
 * Claude Code writes one line for each block of an answer. All lines of an answer become one message, and any other
 * line becomes one message. One step groups all lines, so lines outside of answers get a random key. With two steps,
 * DuckDB would materialize every column of a step that is used twice.
 */
const message = (lines: Lines): string => `
WITH spoken AS (
  SELECT * REPLACE (${lines.said(SAID)} AS message), message AS json
  FROM ${lines.rows} WHERE type IN ('user', 'assistant')
), parts AS (
  SELECT place, line, type, coalesce(message.role, type) AS role,
    if(type = 'assistant', message.id, NULL) AS message_id, uuid, parent_uuid, skein.time(timestamp_text) AS timestamp,
    message.model AS model,
    CASE WHEN message.content IS NULL
      THEN CASE WHEN json_type(json, '$.content') = 'VARCHAR' THEN json_extract_string(json, '$.content') END
      ELSE nullif(array_to_string(list_transform(message.content, lambda b: if(b.type = 'text', b.text, NULL)), chr(10)), '') END AS text,
    nullif(array_to_string(list_transform(message.content, lambda b: b.thinking), chr(10)), '') AS thinking,
    CASE WHEN type = 'user' AND NOT skein.is_true(is_sidechain_text) AND NOT skein.is_true(is_meta_text)
        AND NOT skein.is_true(is_compact_summary_text) AND team_name IS NULL
        AND coalesce(json_extract_string(origin, '$.kind'), json_extract_string(origin, '$'), 'human') IN ('human', 'null')
        AND NOT contains(json::VARCHAR, '"tool_result"')
      THEN skein_prompt(json::VARCHAR) END AS human_prompt,
    coalesce(len(list_filter(message.content, lambda b: b.type = 'tool_use')), 0)::INTEGER AS tool_calls,
    coalesce(len(list_filter(message.content, lambda b: b.type = 'tool_result')), 0)::INTEGER AS tool_results,
    message.stop_reason AS stop_reason, line_agent_id, skein.is_true(is_sidechain_text) AS is_sidechain,
    skein.is_true(is_meta_text) AS is_meta, cwd, git_branch, version
  FROM spoken
)
SELECT place, min(line) AS line, min(role) AS role, min(message_id) AS message_id, arg_min(uuid, line) AS uuid,
  arg_min(parent_uuid, line) AS parent_uuid, min(timestamp) AS timestamp, min(model) AS model,
  string_agg(text, chr(10) ORDER BY line) AS text, string_agg(thinking, chr(10) ORDER BY line) AS thinking,
  min(human_prompt) AS human_prompt, sum(tool_calls)::INTEGER AS tool_calls, sum(tool_results)::INTEGER AS tool_results,
  arg_max(stop_reason, line) AS stop_reason, min(line_agent_id) AS line_agent_id, bool_or(is_sidechain) AS is_sidechain,
  bool_or(is_meta) AS is_meta, min(cwd) AS cwd, min(git_branch) AS git_branch, min(version) AS version,
  count(*)::INTEGER AS line_count
FROM (SELECT *, coalesce(message_id, gen_random_uuid()::VARCHAR) AS key FROM parts) GROUP BY place, key`;

/**
 * Copies of a line in the same file are one call, because some versions wrote every line twice. Copies differ only in
 * the line number, so their order matters only if line numbers are selected.
 */
const toolCall = (lines: Lines, order: string): string => `
WITH calls AS (
  SELECT place, line, tool_use_id, name, input, skein.time(timestamp_text) AS started_at, message_id, model, line_agent_id,
    skein.is_true(is_sidechain_text) AS is_sidechain
  -- Selects single fields of the block, because a window would hold the whole block in memory.
  FROM (
    SELECT place, line, b.id AS tool_use_id, b.name AS name, b.input AS input, timestamp_text, uuid, message_id, model,
      line_agent_id, is_sidechain_text
    FROM (
      SELECT * EXCLUDE (message), message.id AS message_id, message.model AS model, unnest(message.content) AS b
      FROM (SELECT * REPLACE (${lines.said(CALLS)} AS message) FROM ${lines.rows}
        WHERE CASE type WHEN 'assistant' THEN contains(message::VARCHAR, '_use"') END)
    ) WHERE b.type = 'tool_use'
  ) QUALIFY row_number() OVER (PARTITION BY place, tool_use_id ORDER BY ${order}) = 1
), results AS (
  SELECT place, line, tool_use_id, result, skein.is_true(is_error) AS is_error, skein.time(timestamp_text) AS finished_at, tool_use_result
  FROM (
    SELECT place, line, b.tool_use_id AS tool_use_id, b.is_error AS is_error, timestamp_text, uuid, tool_use_result,
      ${lines.result} AS result
    FROM (
      SELECT * EXCLUDE (blocks), unnest(blocks) AS b, generate_subscripts(blocks, 1) AS i
      FROM (SELECT *, ${lines.said(RESULTS)}.content AS blocks
        FROM ${lines.rows} WHERE CASE type WHEN 'user' THEN contains(message::VARCHAR, '_result"') END)
    ) WHERE b.type = 'tool_result'
  ) QUALIFY row_number() OVER (PARTITION BY place, tool_use_id ORDER BY ${order}) = 1
)
SELECT c.place, c.line, c.tool_use_id, c.name, c.input, c.started_at, r.finished_at,
  r.result, r.is_error, r.place IS NOT NULL AS is_answered, r.tool_use_result, c.message_id,
  c.model, c.line_agent_id, c.is_sidechain, r.line AS result_line
FROM calls c LEFT JOIN results r ON r.place = c.place AND r.tool_use_id = c.tool_use_id`;

const agentFact = (lines: Lines): string => `
SELECT place, min(skein.time(timestamp_text)) AS started_at, max(skein.time(timestamp_text)) AS ended_at,
  count(*) AS lines,
  arg_min(${lines.messageText}, line) FILTER (type = 'user') AS prompt,
  arg_min(${lines.text("model")}, line) FILTER (type = 'assistant') AS model
FROM ${lines.rows} WHERE place IN (SELECT place FROM skein.files WHERE kind = 'agent') GROUP BY place`;

const agentLink = (lines: Lines): string => `
SELECT place, json_extract_string(tool_use_result, '$.agentId') AS agent_id, min(b.tool_use_id) AS tool_use_id
FROM (
  SELECT place, tool_use_result, unnest(${lines.said(RESULTS)}.content) AS b
  FROM ${lines.rows} WHERE CASE type WHEN 'user'
    THEN CASE WHEN contains(tool_use_result::VARCHAR, 'Id"') THEN json_type(tool_use_result, '$.agentId') = 'VARCHAR' END END
) WHERE b.type = 'tool_result' GROUP BY ALL`;

/**
 * Snapshots repeat every file at every message. This piece has one row for each version of a file, with the first
 * message of the version.
 */
const fileVersion = (lines: Lines): string => `
WITH named AS (
  SELECT place, line, coalesce(json_extract_string(snapshot, '$.messageId'), snapshot_message_id) AS message_uuid,
    unnest(json_keys(snapshot, '$.trackedFileBackups')) AS path, json_extract(snapshot, '$.trackedFileBackups') AS backups
  FROM ${lines.rows} WHERE type = 'file-history-snapshot' AND json_type(snapshot, '$.trackedFileBackups') = 'OBJECT'
), versions AS (
  -- The path is used as a JSON pointer, because a file's path may contain dots and quotes. A pointer needs only two escapes.
  SELECT place, line, message_uuid, path,
    json_extract(backups, '/' || replace(replace(path, '~', '~0'), '/', '~1')) AS backup FROM named
  UNION ALL
  SELECT place, line, delta_message_id, tracking_path, backup FROM ${lines.rows} WHERE type = 'file-history-delta'
)
SELECT place, min(line) AS line, path, TRY_CAST(json_extract_string(backup, '$.version') AS INTEGER) AS version,
  json_extract_string(backup, '$.backupFileName') AS backup_file_name,
  min(skein.time(json_extract_string(backup, '$.backupTime'))) AS backup_time, arg_min(message_uuid, line) AS message_uuid
FROM versions GROUP BY place, path, version, backup_file_name`;

/**
 * Returns the queries of the pieces by name. The view `scan.<name>` reads the files, the copy has a table `<name>`, and
 * `skein.<name>` is the union of both.
 */
function pieces(lines: Lines, { numbered }: { readonly numbered: boolean }) {
  return {
    conversation: conversation(lines),
    message: message(lines),
    tool_call: toolCall(lines, numbered ? "timestamp_text, uuid, line" : "timestamp_text, uuid"),
    request: requests(lines.answers),
    agent_fact: agentFact(lines),
    agent_link: agentLink(lines),
    file_version: fileVersion(lines),
  } as const satisfies Readonly<Record<string, string>>;
}

/** The queries that fill the copy, with numbered lines. `PIECES` reads files in place, `BATCH_PIECES` reads a batch. */
export const PIECES = pieces(SCANNED, { numbered: true });
export const BATCH_PIECES = pieces(BATCHED, { numbered: true });

/** The pieces that JavaScript reads. They are tables in `scan` and in the copy. */
export const READ_PIECES = {
  repaired: { place: "BIGINT", line: "BIGINT", json: "JSON" },
  damage: { place: "BIGINT", line: "BIGINT", kind: "VARCHAR", message: "VARCHAR" },
  branch: {
    place: "BIGINT",
    at_uuid: "VARCHAR",
    child_uuids: "VARCHAR[]",
    prompts: "VARCHAR[]",
    first_at: "TIMESTAMP",
    last_at: "TIMESTAMP",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export const PIECE_NAMES: readonly string[] = [...Object.keys(PIECES), ...Object.keys(READ_PIECES)];

export const SCAN_TABLES = Object.entries(READ_PIECES)
  .map(([name, columns]) => {
    const list = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
    return `CREATE TABLE scan.${name} (${list.join(", ")});`;
  })
  .join("\n");

export function scanPieces(form: { readonly numbered: boolean }): string {
  return Object.entries(pieces(SCANNED, form))
    .map(([name, query]) => `CREATE OR REPLACE VIEW scan.${name} AS ${query};`)
    .join("\n");
}

/** The schema with the pieces of the files that are read in place. */
export const SCAN = "scan";

/**
 * Returns the views that all tables read. A view contains the rows of one piece from all schemas with rows. To add a
 * source, add a schema with a table or view for each piece.
 */
export function pieceViews({ schemas }: { readonly schemas: readonly string[] }): string {
  const views = PIECE_NAMES.map((name) => {
    const parts = schemas.map((schema) => `SELECT * FROM ${schema}.${name}`);
    return `CREATE OR REPLACE VIEW skein.${name} AS ${parts.join(" UNION ALL ")};`;
  });
  const [copy, ...others] = schemas;
  const isCopyAlone = copy !== undefined && copy !== SCAN && others.length === 0;
  // A copy knows the calls that occur in several of its files. If the copy has all files, only these calls must be
  // compared.
  const single = isCopyAlone
    ? [
        `CREATE OR REPLACE VIEW skein.request AS SELECT * FROM ${copy}.request WHERE id IN (SELECT id FROM ${copy}.repeated);`,
        `CREATE OR REPLACE VIEW skein.single_request AS SELECT * FROM ${copy}.request WHERE id NOT IN (SELECT id FROM ${copy}.repeated);`,
      ]
    : [`CREATE OR REPLACE VIEW skein.single_request AS ${NO_REQUESTS};`];
  return [...views, ...single].join("\n");
}
