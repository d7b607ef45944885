/**
 * The tables of the schemas `claude` and `history`. They show the data of coding agents in the form that most queries
 * need.
 */
import { responses } from "./requests.ts";
import type { ViewPlace } from "./view-place.ts";

/** Views over only the files of Claude Code. */
const CLAUDE: ViewPlace = { schema: "claude", files: "skein.claude_files", source: "" };
/** The views over the files of every coding agent. */
const HISTORY: ViewPlace = { schema: "history", files: "skein.files", source: "f.source, " };

function transcriptViews({ schema, files, source }: ViewPlace): string {
  return `
-- The copy does not contain the lines, because they would only repeat the files.
CREATE VIEW ${schema}.lines AS
SELECT ${source}f.file, l.line, f.session_id, f.agent_id, f.project_path, f.kind, f.layout, f.workflow_id,
  json_extract_string(l.json, '$.type') AS type, l.json
FROM (
  SELECT file_id, line, json FROM scan.objects
  UNION ALL
  SELECT file_id, m.line, m.json FROM skein.repaired m JOIN ${files} f USING (place)
) l JOIN ${files} f USING (file_id);

CREATE VIEW ${schema}.damage AS
SELECT ${source}f.file, d.line, d.kind, d.message FROM skein.damage d JOIN ${files} f USING (place)
UNION ALL
SELECT ${source === "" ? "" : "NULL, "}file, 0, kind, message FROM skein.skipped;

CREATE VIEW ${schema}.messages AS
SELECT ${source}f.session_id, f.project_path, m.role, m.message_id, m.uuid, m.parent_uuid,
  m.timestamp, m.model, m.text, m.thinking, m.human_prompt, m.tool_calls, m.tool_results, m.stop_reason,
  coalesce(f.agent_id, m.line_agent_id) AS agent_id, m.is_sidechain, m.is_meta, m.cwd, m.git_branch, m.version,
  f.file, m.line, m.line_count
FROM skein.message m JOIN ${files} f USING (place);
${responses({ schema, files, source })}
CREATE VIEW ${schema}.tool_calls AS
SELECT ${source}f.session_id, f.project_path, c.tool_use_id, c.name, c.input,
  c.started_at, c.finished_at, date_diff('millisecond', c.started_at, c.finished_at) AS duration_ms, c.result, c.is_error,
  c.is_answered, c.tool_use_result, c.message_id, c.model, coalesce(f.agent_id, c.line_agent_id) AS agent_id,
  c.is_sidechain, f.file, c.line, c.result_line
FROM skein.tool_call c JOIN ${files} f USING (place);

CREATE VIEW ${schema}.agents AS
WITH links AS (
  SELECT l.agent_id, min({file_id: f.file_id, tool_use_id: l.tool_use_id}).tool_use_id AS tool_use_id
  FROM skein.agent_link l JOIN ${files} f USING (place) GROUP BY l.agent_id
)
SELECT ${source}f.agent_id, f.session_id, f.project_path, f.layout, f.workflow_id,
  json_extract_string(m.meta, '$.agentType') AS agent_type, json_extract_string(m.meta, '$.description') AS description,
  coalesce(json_extract_string(m.meta, '$.toolUseId'), links.tool_use_id) AS tool_use_id, json_extract_string(m.meta, '$.parentAgentId') AS parent_agent_id,
  facts.model, facts.prompt, facts.started_at, facts.ended_at,
  date_diff('millisecond', facts.started_at, facts.ended_at) AS duration_ms, coalesce(facts.lines, 0) AS lines, f.file
FROM ${files} f
LEFT JOIN skein.agent_fact facts USING (place) LEFT JOIN skein.agent_metas m USING (file) LEFT JOIN links ON links.agent_id = f.agent_id
WHERE f.kind = 'agent';

CREATE VIEW ${schema}.branches AS
SELECT ${source}f.session_id, f.project_path, b.at_uuid, len(b.child_uuids)::INTEGER AS ways, b.child_uuids, b.prompts, b.first_at,
  b.last_at, f.file
FROM skein.branch b JOIN ${files} f USING (place);
`;
}

export const CLAUDE_TABLES = `
CREATE TABLE skein.agent_metas (file VARCHAR, meta JSON);
${transcriptViews(CLAUDE)}
CREATE TABLE claude.sessions (
  session_id VARCHAR, project_path VARCHAR, title VARCHAR, started_at TIMESTAMP, last_activity_at TIMESTAMP,
  message_count INTEGER, agent_count INTEGER, version VARCHAR, git_branch VARCHAR, size_bytes BIGINT, file VARCHAR);

CREATE TABLE claude.tasks (
  list_id VARCHAR, task_id VARCHAR, subject VARCHAR, description VARCHAR, status VARCHAR, active_form VARCHAR, owner VARCHAR,
  blocks JSON, blocked_by JSON, metadata JSON, modified_at TIMESTAMP, file VARCHAR);

CREATE VIEW claude.file_versions AS
SELECT f.session_id, f.project_path, v.path, v.version, v.backup_file_name, v.backup_time, v.message_uuid, f.file, v.line
FROM skein.file_version v JOIN skein.claude_files f USING (place);
`;

/** These views are made only for a query that names them, because DuckDB needs time to bind a new view. */
export const HISTORY_TABLES = `CREATE SCHEMA history;
${transcriptViews(HISTORY)}
CREATE TABLE history.sessions (
  source VARCHAR, session_id VARCHAR, project_path VARCHAR, title VARCHAR, started_at TIMESTAMP, last_activity_at TIMESTAMP,
  message_count INTEGER, agent_count INTEGER, version VARCHAR, git_branch VARCHAR, size_bytes BIGINT, file VARCHAR);
`;
