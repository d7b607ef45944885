/**
 * Defines the table functions of the `agent_data` extension as macros, for a DuckDB without Skein. The macros have the
 * columns and types of the extension.
 */
const READ = "format = 'newline_delimited', ignore_errors = true, maximum_object_size = 67108864, filename = true";

/**
 * Returns a condition that is true for transcripts. In the folder of a session, only files of subagents are
 * transcripts. The journal of a workflow is not a transcript.
 */
export const isTranscript = (file: string): string =>
  `regexp_matches(${file}, '/projects/[^/]+/([^/]+|.*/agent-[^/]+)\\.jsonl$')`;

/**
 * Returns a query that reads files as texts. If a file is not UTF-8, its content is NULL. With `read_text`, the whole
 * statement would fail.
 */
export const textFiles = (files: string): string =>
  `(SELECT filename, TRY(decode(content)) AS content, size, last_modified FROM read_blob(${files}))`;

const text = (json: string, path: string): string => `json_extract_string(${json}, '$.${path}')`;
const number = (json: string, path: string): string => `TRY_CAST(${text(json, path)} AS BIGINT)`;

export const READ_MACROS = `
CREATE OR REPLACE MACRO read_conversations(path, source := 'claude') AS TABLE
WITH lines AS (
  SELECT filename, row_number() OVER () AS n, json,
    split_part(filename, '/projects/', -1) AS rest, json_extract(json, '$.message') AS message
  FROM read_ndjson_objects(path || '/projects/**/*.jsonl', ${READ}) WHERE ${isTranscript("filename")}
), placed AS (
  SELECT *, n - min(n) OVER (PARTITION BY filename) + 1 AS line_number,
    first_value(${text("json", "cwd")} IGNORE NULLS) OVER (PARTITION BY filename ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS project
  FROM lines
), tools AS (
  SELECT *, list_filter(json_extract(message, '$.content[*]'), lambda b: json_extract_string(b, '$.type') = 'tool_use')[1] AS tool FROM placed
)
SELECT 'claude' AS source,
  coalesce(${text("json", "sessionId")},
    CASE WHEN len(string_split(rest, '/')) > 2 THEN string_split(rest, '/')[2] ELSE parse_filename(filename, true) END) AS session_id,
  coalesce(project, split_part(rest, '/', 1)) AS project_path, split_part(rest, '/', 1) AS project_dir,
  parse_filename(filename) AS file_name, starts_with(parse_filename(filename), 'agent-') AS is_agent, line_number,
  CASE WHEN json IS NULL THEN '_parse_error' ELSE ${text("json", "type")} END AS message_type, ${text("json", "uuid")} AS uuid,
  ${text("json", "parentUuid")} AS parent_uuid, ${text("json", "timestamp")} AS timestamp, coalesce(${text("message", "role")}, CASE WHEN ${text("json", "type")} IN ('user', 'assistant') THEN ${text("json", "type")} END) AS message_role,
  CASE WHEN json_type(message, '$.content') = 'VARCHAR' THEN ${text("message", "content")}
    WHEN json_type(message, '$.content') = 'ARRAY' THEN array_to_string(json_extract_string(message, '$.content[*].text'), chr(10))
    ELSE coalesce(${text("json", "content")}, ${text("json", "summary")}) END AS message_content,
  ${text("message", "model")} AS model, ${text("tool", "name")} AS tool_name, ${text("tool", "id")} AS tool_use_id,
  json_extract(tool, '$.input')::VARCHAR AS tool_input, ${number("message", "usage.input_tokens")} AS input_tokens,
  ${number("message", "usage.output_tokens")} AS output_tokens,
  ${number("message", "usage.cache_creation_input_tokens")} AS cache_creation_tokens,
  ${number("message", "usage.cache_read_input_tokens")} AS cache_read_tokens, NULL::BIGINT AS reasoning_tokens,
  ${text("json", "slug")} AS slug, ${text("json", "gitBranch")} AS git_branch, ${text("json", "cwd")} AS cwd,
  ${text("json", "version")} AS version, ${text("message", "stop_reason")} AS stop_reason, ${text("json", "effort")} AS reasoning_effort,
  NULL::VARCHAR AS repository
FROM tools;

CREATE OR REPLACE MACRO read_plans(path, source := 'claude') AS TABLE
SELECT 'claude' AS source, NULL::VARCHAR AS session_id, parse_filename(filename, true) AS plan_name,
  parse_filename(filename) AS file_name, filename AS file_path, content, size AS file_size
FROM ${textFiles("path || '/plans/*.md'")};

CREATE OR REPLACE MACRO read_todos(path, source := 'claude') AS TABLE
SELECT 'claude' AS source, regexp_extract(parse_filename(filename, true), '^(.*)-agent-', 1) AS session_id,
  regexp_extract(parse_filename(filename, true), '-agent-(.*)$', 1) AS agent_id, parse_filename(filename) AS file_name, item_index,
  ${text("item", "content")} AS content, ${text("item", "status")} AS status, ${text("item", "activeForm")} AS active_form
FROM (
  SELECT filename, unnest(json_extract(content::JSON, '$[*]')) AS item, generate_subscripts(json_extract(content::JSON, '$[*]'), 1) - 1 AS item_index
  FROM ${textFiles("path || '/todos/*.json'")} WHERE json_valid(content)
);

CREATE OR REPLACE MACRO read_history(path, source := 'claude') AS TABLE
SELECT 'claude' AS source, line_number, ${number("json", "timestamp")} AS timestamp_ms, ${text("json", "project")} AS project,
  ${text("json", "sessionId")} AS session_id, ${text("json", "display")} AS display, json_extract(json, '$.pastedContents')::VARCHAR AS pasted_contents
FROM (SELECT row_number() OVER () AS line_number, json FROM read_ndjson_objects(path || '/history.jsonl', ${READ}));

CREATE OR REPLACE MACRO read_stats(path, source := 'claude') AS TABLE
SELECT 'claude' AS source, ${text("day", "date")} AS date, ${number("day", "messageCount")} AS message_count,
  ${number("day", "sessionCount")} AS session_count, ${number("day", "toolCallCount")} AS tool_call_count
FROM (SELECT unnest(json_extract(content::JSON, '$.dailyActivity[*]')) AS day FROM ${textFiles("path || '/stats-cache.json'")});`;
