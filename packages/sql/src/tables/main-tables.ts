/**
 * The tables of the schema `main`. The columns of the SQL specification come first. The added columns say where a row
 * comes from.
 */
export const MAIN_TABLES = `
-- One row for each record. Nothing in it is a key: uuids repeat in forks, and records glued into one line share file and line.
CREATE VIEW main.claude_conversations AS
SELECT f.session_id, f.project_path, c.message_uuid, c.parent_uuid, c.message_type,
  c.timestamp, c.content, c.model, c.tool_uses, c.token_usage, c.slug, c.git_branch, c.cwd, f.file, c.line,
  coalesce(f.agent_id, c.line_agent_id) AS agent_id, c.is_sidechain
FROM skein.conversation c JOIN skein.claude_files f USING (place);

CREATE TABLE main.claude_plans (
  plan_name VARCHAR, slug VARCHAR, content VARCHAR, file_size INTEGER, created_at TIMESTAMP, modified_at TIMESTAMP,
  file VARCHAR);

CREATE TABLE main.claude_todos (
  session_id VARCHAR, agent_id VARCHAR, todo_index INTEGER, content VARCHAR, status VARCHAR, active_form VARCHAR,
  file VARCHAR);

CREATE TABLE main.claude_history (
  timestamp TIMESTAMP, project VARCHAR, session_id VARCHAR, display VARCHAR, pasted_contents JSON, file VARCHAR,
  line BIGINT);

CREATE TABLE skein.stats_cache (date DATE, message_count INTEGER, session_count INTEGER, tool_call_count INTEGER);

-- Claude Code often stops updating its cache. Days that it lacks are counted from the transcripts.
CREATE VIEW main.claude_stats AS
SELECT date, message_count, session_count, tool_call_count, 'cache' AS origin FROM skein.stats_cache
UNION ALL
SELECT date, message_count, session_count, tool_call_count, 'computed' FROM (
  SELECT c.timestamp::DATE AS date, count(*)::INTEGER AS message_count,
    count(DISTINCT f.session_id)::INTEGER AS session_count,
    coalesce(sum(json_array_length(c.tool_uses)), 0)::INTEGER AS tool_call_count
  FROM skein.conversation c JOIN skein.claude_files f USING (place) WHERE c.message_type IN ('user', 'assistant') GROUP BY ALL)
WHERE date IS NOT NULL AND date NOT IN (SELECT date FROM skein.stats_cache);
`;
