/**
 * The views with which DuckDB reads transcripts in place, line by line.
 *
 * `scan.rows` has the fields of lines with a type. `scan.answers` has the fields for the cost of a call. `scan.objects`
 * has every line as JSON. DuckDB cannot read a line with a lone surrogate, with a byte that is not UTF-8, or with two
 * records. JavaScript reads these lines into `scan.repaired`. Decision 070 in docs/decisions has the reasons.
 */

/**
 * DuckDB's default limit for a line. Buffers are twice as large for each scan and thread. The texts of longer lines are
 * cut.
 */
export const MOST_LINE_BYTES = 16 * 2 ** 20;

/**
 * The reader's limit for a line. The extra bytes are for the byte order mark, the line feed and the bytes that the
 * reader reads after the line.
 */
export const LINE_ROOM = `SET VARIABLE skein_line_bytes = ${MOST_LINE_BYTES + 1024};`;

/**
 * The reader skips only known bad lines. It fails on other bad lines, because skipping them silently would lose data.
 */
const READ =
  "format = 'newline_delimited', ignore_errors = getvariable('skein_tolerant'), maximum_object_size = getvariable('skein_line_bytes')";

/**
 * The fields of a line, with their column names. All types are texts or JSON, because an unexpected value for a number
 * would lose the whole line.
 */
const FIELDS: Readonly<Record<string, readonly [name: string, type: "VARCHAR" | "JSON"]>> = {
  type: ["type", "VARCHAR"],
  uuid: ["uuid", "VARCHAR"],
  parentUuid: ["parent_uuid", "VARCHAR"],
  timestamp: ["timestamp_text", "VARCHAR"],
  cwd: ["cwd", "VARCHAR"],
  version: ["version", "VARCHAR"],
  slug: ["slug", "VARCHAR"],
  gitBranch: ["git_branch", "VARCHAR"],
  isSidechain: ["is_sidechain_text", "VARCHAR"],
  isMeta: ["is_meta_text", "VARCHAR"],
  isCompactSummary: ["is_compact_summary_text", "VARCHAR"],
  agentId: ["line_agent_id", "VARCHAR"],
  requestId: ["request_id", "VARCHAR"],
  teamName: ["team_name", "JSON"],
  origin: ["origin", "JSON"],
  message: ["message", "JSON"],
  toolUseResult: ["tool_use_result", "JSON"],
  content: ["content", "JSON"],
  summary: ["summary", "VARCHAR"],
  data: ["data", "JSON"],
  messageId: ["snapshot_message_id", "VARCHAR"],
  snapshot: ["snapshot", "JSON"],
  snapshotMessageId: ["delta_message_id", "VARCHAR"],
  trackingPath: ["tracking_path", "VARCHAR"],
  backup: ["backup", "JSON"],
};

/**
 * The fields for the cost of an answer. As structures they are parsed together with the line. As JSON they would be
 * parsed twice with all their content. A value that does not fit its type is NULL, as in `json_transform`.
 */
export const USAGE = {
  input_tokens: "BIGINT",
  output_tokens: "BIGINT",
  cache_creation_input_tokens: "BIGINT",
  cache_read_input_tokens: "BIGINT",
  cache_creation: { ephemeral_5m_input_tokens: "BIGINT", ephemeral_1h_input_tokens: "BIGINT" },
  server_tool_use: { web_search_requests: "BIGINT" },
  speed: "VARCHAR",
};
const ANSWER = { id: "VARCHAR", model: "VARCHAR", usage: USAGE };
const ANSWER_LINE: Readonly<Record<string, Shape>> = {
  type: "VARCHAR",
  uuid: "VARCHAR",
  timestamp: "VARCHAR",
  requestId: "VARCHAR",
  isSidechain: "VARCHAR",
  message: ANSWER,
  toolUseResult: { searchCount: "JSON" },
  // This field is JSON, because few lines have it, and a structure would be filled for every line.
  data: { type: "VARCHAR", message: "JSON" },
};
/** A subagent's line inside a line of its parent. */
const INNER_LINE = { uuid: "VARCHAR", timestamp: "VARCHAR", requestId: "VARCHAR", message: ANSWER };

type Shape = string | { readonly [field: string]: Shape };

function typeOf(shape: Shape): string {
  if (typeof shape === "string") return shape;
  const fields = Object.entries(shape).map(([field, inner]) => `"${field}" ${typeOf(inner)}`);
  return `STRUCT(${fields.join(", ")})`;
}

const columns = Object.entries(FIELDS).map(([field, [, type]]) => `'${field}': '${type}'`);
/** The fields of a line `s` under their column names. */
export const LINE_FIELDS = Object.entries(FIELDS)
  .map(([field, [name]]) => `s."${field}" AS ${name}`)
  .join(", ");
const names = Object.values(FIELDS).map(([name]) => name);

/** A field that no line has. It replaces the line number in views without line numbers. */
export const NO_LINE = "skein_line";

/** The lines of the files. Queries call a line `s`. */
export const FILE_LINES = `read_ndjson(getvariable('skein_files'), columns = {${columns.join(", ")}, '${NO_LINE}': 'BIGINT'}, records = 'true', ${READ}) s`;

/** The lines that JavaScript read. Queries call a line `s`. */
export const REPAIRED_LINES = `(SELECT place, line, json_transform(json, '${JSON.stringify(
  Object.fromEntries(Object.entries(FIELDS).map(([field, [, type]]) => [field, type])),
)}') AS s FROM scan.repaired)`;

export const FILES = `
-- Every transcript. The rows of a file have its place: 0, 1, … for files that are scanned, -1, -2, … for those in the copy.
-- first_row is the number of rows in the scanned files before it, first_line that in all files before it.
CREATE TABLE skein.files (
  file_id BIGINT, place BIGINT, file VARCHAR, root VARCHAR, folder VARCHAR, kind VARCHAR, layout VARCHAR,
  session_id VARCHAR, agent_id VARCHAR, workflow_id VARCHAR, project_path VARCHAR, size_bytes BIGINT,
  modified_at TIMESTAMP, first_row BIGINT, first_line BIGINT, source VARCHAR);
-- The files of Claude Code only. If files of other agents are read too, this view is created again with a condition.
CREATE VIEW skein.claude_files AS SELECT * FROM skein.files;
CREATE TABLE skein.skipped (file VARCHAR, kind VARCHAR, message VARCHAR);
`;

/**
 * Makes the view `scan.rows` with or without line numbers. The reader does not number lines, but keeps their order, so
 * `row_number()` gives the numbers. That allows only one thread. In the form without numbers, `line` is `NO_LINE`. If
 * DuckDB's plan of a statement contains `NO_LINE`, the statement needs the numbers.
 */
export function scanRows(form: { readonly numbered: boolean }): string {
  const { number, line, join } = numbers(form);
  return `
CREATE OR REPLACE VIEW scan.rows AS
SELECT place, ${line} AS line, ${names.join(", ")}
FROM (
  SELECT s.file_index::BIGINT AS place${number}, ${LINE_FIELDS}
  FROM ${FILE_LINES}
)${join} WHERE type IS NOT NULL
UNION ALL
SELECT place, line, ${LINE_FIELDS} FROM ${REPAIRED_LINES} WHERE s.type IS NOT NULL;
`;
}

/**
 * Makes a view of lines with the fields for the cost of a call. Its reader always skips bad lines, because it would
 * fail on any structure with another form. An unreadable line has no type, so check the type first with
 * `skein.is_void`.
 */
export function scanAnswers(form: { readonly numbered: boolean }): string {
  const { number, line, join } = numbers(form);
  const fields = Object.keys(ANSWER_LINE).map((field) => `"${field}"`);
  const types = Object.entries(ANSWER_LINE).map(([field, shape]) => `'${field}': '${typeOf(shape)}'`);
  return `
CREATE OR REPLACE VIEW scan.answers AS
SELECT place, ${line} AS line, ${fields.join(", ")}
FROM (
  SELECT s.file_index::BIGINT AS place${number}, ${fields.join(", ")}
  FROM read_ndjson(getvariable('skein_files'), columns = {${types.join(", ")}, '${NO_LINE}': 'BIGINT'}, records = 'true', format = 'newline_delimited',
    ignore_errors = true, maximum_object_size = getvariable('skein_line_bytes')) s
)${join}
UNION ALL
SELECT place, line, unnest(json_transform(json, '${JSON.stringify(ANSWER_LINE)}')) FROM scan.repaired;
`;
}

function numbers({ numbered }: { readonly numbered: boolean }) {
  return numbered
    ? {
        number: ", row_number() OVER () AS n",
        line: "n - first_row",
        join: " JOIN (SELECT place, first_row FROM skein.files) USING (place)",
      }
    : { number: `, s.${NO_LINE}`, line: NO_LINE, join: "" };
}

/** All lines of all files, even of files in the cached copy. JSON lines that are not objects count as damage. */
export const OBJECTS = `
CREATE VIEW scan.objects AS
SELECT f.file_id, o.n - f.first_line AS line, o.json
FROM (
  SELECT s.file_index::BIGINT AS file_id, row_number() OVER () AS n, s.json
  FROM read_ndjson_objects(getvariable('skein_all_files'), ${READ}) s
) o JOIN skein.files f USING (file_id) WHERE json_type(o.json) = 'OBJECT';
`;

export const SCAN_MACROS = `
CREATE MACRO skein.time(text) AS TRY_CAST(text AS TIMESTAMP);
-- Whether a line cannot be read. While bad lines are not known, this macro fails the statement, as the reader of scan.rows does.
CREATE MACRO skein.is_void(type) AS CASE WHEN type IS NOT NULL THEN false
  WHEN getvariable('skein_tolerant') THEN true ELSE error('JSON that cannot be read') END;
CREATE MACRO skein.inner_line(json) AS json_transform(json, '${JSON.stringify(INNER_LINE)}');
CREATE MACRO skein.is_true(text) AS coalesce(text = 'true', false);

-- The text of a tool's result: a string, or the texts of its blocks.
CREATE MACRO skein.result_text(content) AS CASE left(content::VARCHAR, 1)
  WHEN '"' THEN json_extract_string(content, '$') ELSE array_to_string(json_extract_string(content, '$[*].text'), chr(10)) END;
-- The text of block number i of a message. Only a result whose text begins like a JSON list or object may be one, so only then
-- the message is parsed again.
CREATE MACRO skein.block_text(message, b, i) AS CASE WHEN b.type = 'tool_result'
  THEN CASE WHEN left(b.content, 1) IN ('[', '{')
    THEN skein.result_text(json_extract(message, '$.content[' || (i - 1) || '].content')) ELSE b.content END
  ELSE coalesce(b.text, b.thinking) END;
-- The text of a message whose blocks are already parsed. Most messages have one block.
CREATE MACRO skein.message_text(message, blocks, first) AS CASE len(blocks)
  WHEN 1 THEN nullif(skein.block_text(message, first, 1), '')
  ELSE CASE WHEN blocks IS NULL
    THEN CASE WHEN json_type(message, '$.content') = 'VARCHAR' THEN json_extract_string(message, '$.content') END
    ELSE nullif(array_to_string(list_transform(blocks, lambda b, i: skein.block_text(message, b, i)), chr(10)), '') END END;
-- The text of a "content" value that is not part of a message.
CREATE MACRO skein.text_of(content) AS CASE left(content::VARCHAR, 1)
  WHEN '"' THEN json_extract_string(content, '$')
  WHEN '[' THEN nullif(array_to_string(list_transform(
    json_transform(content, '[{"type":"VARCHAR","text":"VARCHAR","thinking":"VARCHAR","content":"JSON"}]'),
    lambda b: CASE b.type WHEN 'tool_result' THEN skein.result_text(b.content) ELSE coalesce(b.text, b.thinking) END), chr(10)), '')
END;
`;

/**
 * Counts the rows of some files, and the rows that are not readable objects. A row that DuckDB has read is JSON, so its
 * first character shows whether it is an object. Parsing the row again would hold it in memory twice.
 */
export const COUNT_ROWS = `
SELECT file_index::BIGINT AS place, count(*) AS total, max(strlen(json)) AS longest,
  count(*) FILTER (json IS NULL OR left(ltrim(left(json::VARCHAR, 100), chr(65279) || ' ' || chr(9) || chr(13)), 1) <> '{') AS bad
FROM read_ndjson_objects(getvariable('skein_new_files'), format = 'newline_delimited', ignore_errors = true,
  maximum_object_size = getvariable('skein_line_bytes')) GROUP BY ALL`;
