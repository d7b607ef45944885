/** The tables that people need of Claude Code's data, besides those of the seed. */
import { machineTags } from "@skein/history/format";
import { RESPONSES } from "./responses.ts";

const WRAPPERS = machineTags.join("|");

export const CLAUDE_TABLES = `
CREATE VIEW claude.lines AS
SELECT file, line, session_id, agent_id, project_path, kind, layout, workflow_id, json_extract_string(json, '$.type') AS type, json
FROM skein.objects;

-- What is left of a text without the tags that a machine put in front; nothing where no person wrote.
CREATE MACRO skein.typed(content) AS nullif(regexp_replace(trim(regexp_replace(content,
  '^(\\s*<(${WRAPPERS})(\\s[^>]*)?>(?s:.*?)</(${WRAPPERS})>)+', '')),
  '^(?s:(\\[Request interrupted by user[^\\]]*\\]\\s*$|Caveat: .*|<(${WRAPPERS})(\\s[^>]*)?>.*))', ''), '');

-- The lines of one answer are one message. A file may have an answer twice: then it is one message of more lines.
CREATE VIEW claude.messages AS
WITH walked AS (
  SELECT * REPLACE (json_transform(message,
      '{"id":"VARCHAR","role":"VARCHAR","model":"VARCHAR","stop_reason":"VARCHAR","content":"JSON"}') AS message)
  FROM skein.rows WHERE type IN ('user', 'assistant')
), blocked AS (
  SELECT *, skein.parts(message.content) AS parts FROM walked
), parts AS (
  SELECT *, coalesce(session_id, line_session_id) AS session, coalesce(message.role, type) AS role,
    if(type = 'assistant', message.id, NULL) AS message_id,
    CASE WHEN parts IS NULL THEN json_extract_string(message.content, '$')
      ELSE nullif(array_to_string(list_transform(parts, lambda b: if(b.type = 'text', b.text, NULL)), chr(10)), '') END AS text,
    nullif(array_to_string(list_transform(parts, lambda b: b.thinking), chr(10)), '') AS thinking,
    coalesce(len(list_filter(parts, lambda b: b.type = 'tool_use')), 0) AS tool_calls,
    coalesce(len(list_filter(parts, lambda b: b.type = 'tool_result')), 0) AS tool_results
  FROM blocked
)
SELECT
  any_value(session) AS session_id, any_value(project_path) AS project_path, any_value(role) AS role,
  message_id, arg_min(uuid, line) AS uuid, arg_min(parent_uuid, line) AS parent_uuid,
  min(TRY_CAST(timestamp_text AS TIMESTAMP)) AS timestamp, any_value(message.model) AS model,
  string_agg(text, chr(10) ORDER BY line) AS text, string_agg(thinking, chr(10) ORDER BY line) AS thinking,
  any_value(CASE WHEN type = 'user' AND is_sidechain_text IS DISTINCT FROM 'true' AND is_meta_text IS DISTINCT FROM 'true'
      AND is_compact_summary_text IS DISTINCT FROM 'true' AND team_name IS NULL
      AND coalesce(json_extract_string(origin, '$.kind'), json_extract_string(origin, '$'), 'human') IN ('human', 'null')
      AND tool_results = 0
    THEN skein.typed(text) END) AS human_prompt,
  sum(tool_calls)::INTEGER AS tool_calls, sum(tool_results)::INTEGER AS tool_results,
  arg_max(message.stop_reason, line) AS stop_reason,
  any_value(coalesce(agent_id, line_agent_id)) AS agent_id,
  bool_or(coalesce(is_sidechain_text = 'true', false)) AS is_sidechain,
  bool_or(coalesce(is_meta_text = 'true', false)) AS is_meta,
  any_value(cwd) AS cwd, any_value(git_branch) AS git_branch, any_value(version) AS version,
  any_value(file) AS file, min(line) AS line, count(*)::INTEGER AS line_count
FROM parts GROUP BY file_id, message_id, if(message_id IS NULL, line, NULL);
${RESPONSES}
CREATE TABLE claude.sessions (
  session_id VARCHAR, project_path VARCHAR, title VARCHAR, started_at TIMESTAMP, last_activity_at TIMESTAMP,
  message_count INTEGER, agent_count INTEGER, version VARCHAR, git_branch VARCHAR, size_bytes BIGINT, file VARCHAR);

-- Copies of a line in the same file (some versions wrote every line twice) are one call.
CREATE VIEW claude.tool_calls AS
WITH calls AS (
  SELECT file_id, json_extract_string(b, '$.id') AS tool_use_id, arg_min(struct_pack(
      session := coalesce(session_id, line_session_id), project_path, name := json_extract_string(b, '$.name'), input := json_extract(b, '$.input'),
      started_at := TRY_CAST(timestamp_text AS TIMESTAMP), message_id := json_extract_string(message, '$.id'), model := json_extract_string(message, '$.model'),
      agent_id := coalesce(agent_id, line_agent_id), is_sidechain := coalesce(is_sidechain_text = 'true', false), file, line), line) AS call
  FROM (SELECT *, unnest(skein.blocks(json_extract(message, '$.content'), 'tool_use')) AS b FROM skein.rows WHERE type = 'assistant')
  GROUP BY ALL
), results AS (
  SELECT file_id, json_extract_string(b, '$.tool_use_id') AS tool_use_id, arg_min(struct_pack(
      content := skein.result_text(json_extract(b, '$.content')),
      is_error := coalesce(json_extract_string(b, '$.is_error') = 'true', false), finished_at := TRY_CAST(timestamp_text AS TIMESTAMP),
      detail := tool_use_result, line), line) AS result
  FROM (SELECT *, unnest(skein.blocks(json_extract(message, '$.content'), 'tool_result')) AS b FROM skein.rows WHERE type = 'user')
  GROUP BY ALL
)
SELECT call.session AS session_id, call.project_path AS project_path, tool_use_id, call.name AS name, call.input AS input,
  call.started_at AS started_at, result.finished_at AS finished_at,
  date_diff('millisecond', call.started_at, result.finished_at) AS duration_ms,
  result.content AS result, result.is_error AS is_error, result IS NOT NULL AS is_answered, result.detail AS tool_use_result,
  call.message_id AS message_id, call.model AS model, call.agent_id AS agent_id, call.is_sidechain AS is_sidechain,
  call.file AS file, call.line AS line, result.line AS result_line
FROM calls LEFT JOIN results USING (file_id, tool_use_id);

CREATE TABLE skein.agent_metas (file VARCHAR, meta JSON);

CREATE VIEW claude.agents AS
WITH facts AS (
  SELECT file, min(TRY_CAST(timestamp_text AS TIMESTAMP)) AS started_at, max(TRY_CAST(timestamp_text AS TIMESTAMP)) AS ended_at,
    count(*) AS lines, any_value(line_session_id) AS line_session_id,
    arg_min(skein.text_of(json_extract(message, '$.content')), line) FILTER (type = 'user') AS prompt,
    arg_min(json_extract_string(message, '$.model'), line) FILTER (type = 'assistant') AS model
  FROM skein.rows WHERE kind = 'agent' GROUP BY file
), links AS (
  SELECT json_extract_string(tool_use_result, '$.agentId') AS agent_id, any_value(json_extract_string(b, '$.tool_use_id')) AS tool_use_id
  FROM (SELECT tool_use_result, unnest(skein.blocks(json_extract(message, '$.content'), 'tool_result')) AS b FROM skein.rows
    WHERE type = 'user' AND json_type(tool_use_result, '$.agentId') = 'VARCHAR')
  GROUP BY ALL
)
SELECT f.agent_id, coalesce(f.session_id, facts.line_session_id) AS session_id, f.project_path, f.layout, f.workflow_id,
  json_extract_string(m.meta, '$.agentType') AS agent_type, json_extract_string(m.meta, '$.description') AS description,
  coalesce(json_extract_string(m.meta, '$.toolUseId'), links.tool_use_id) AS tool_use_id, json_extract_string(m.meta, '$.parentAgentId') AS parent_agent_id,
  facts.model, facts.prompt, facts.started_at, facts.ended_at,
  date_diff('millisecond', facts.started_at, facts.ended_at) AS duration_ms, coalesce(facts.lines, 0) AS lines, f.file
FROM skein.files f
LEFT JOIN facts USING (file) LEFT JOIN skein.agent_metas m USING (file) LEFT JOIN links ON links.agent_id = f.agent_id
WHERE f.kind = 'agent';

CREATE TABLE claude.tasks (
  list_id VARCHAR, task_id VARCHAR, subject VARCHAR, description VARCHAR, status VARCHAR, active_form VARCHAR, owner VARCHAR,
  blocks JSON, blocked_by JSON, metadata JSON, modified_at TIMESTAMP, file VARCHAR);

-- Snapshots repeat every file at every message: each version of a file once, at the message that first names it.
CREATE VIEW claude.file_versions AS
WITH named AS (
  SELECT session_id, project_path, file, line, coalesce(json_extract_string(snapshot, '$.messageId'), snapshot_message_id) AS message_uuid,
    unnest(json_keys(snapshot, '$.trackedFileBackups')) AS path, json_extract(snapshot, '$.trackedFileBackups') AS backups
  FROM skein.rows WHERE type = 'file-history-snapshot' AND json_type(snapshot, '$.trackedFileBackups') = 'OBJECT'
), versions AS (
  -- A path may hold dots and quotes, so it is no JSON path: the pointer's two escapes are all it needs.
  SELECT session_id, project_path, file, line, message_uuid, path,
    json_extract(backups, '/' || replace(replace(path, '~', '~0'), '/', '~1')) AS backup FROM named
  UNION ALL
  SELECT session_id, project_path, file, line, delta_message_id, tracking_path, backup
  FROM skein.rows WHERE type = 'file-history-delta'
)
SELECT any_value(session_id) AS session_id, any_value(project_path) AS project_path, path,
  TRY_CAST(json_extract_string(backup, '$.version') AS INTEGER) AS version, json_extract_string(backup, '$.backupFileName') AS backup_file_name,
  min(TRY_CAST(json_extract_string(backup, '$.backupTime') AS TIMESTAMP)) AS backup_time, arg_min(message_uuid, line) AS message_uuid,
  file, min(line) AS line
FROM versions GROUP BY file, path, version, backup_file_name;

-- Someone rewound and typed again: more than one prompt hangs on the same message.
CREATE VIEW claude.branches AS
SELECT session_id, project_path, parent_uuid AS at_uuid, count(*)::INTEGER AS ways,
  list(uuid ORDER BY line) AS child_uuids, list(human_prompt ORDER BY line) AS prompts,
  min(timestamp) AS first_at, max(timestamp) AS last_at, file
FROM claude.messages WHERE human_prompt IS NOT NULL AND parent_uuid IS NOT NULL
GROUP BY session_id, project_path, parent_uuid, file HAVING count(DISTINCT uuid) > 1 AND count(DISTINCT timestamp) > 1;
`;
