/** The five tables of the seed, under its names and types, each with what it takes to tell its rows apart. */
export const SEED_TABLES = `
-- One row for each line, keyed by file and line: uuids repeat in forks and are missing in many lines.
CREATE VIEW main.claude_conversations AS
SELECT
  coalesce(session_id, line_session_id) AS session_id,
  project_path,
  uuid AS message_uuid,
  parent_uuid,
  type AS message_type,
  TRY_CAST(timestamp_text AS TIMESTAMP) AS timestamp,
  coalesce(skein.text_of(coalesce(body, content)), summary) AS content,
  json_extract_string(message, '$.model') AS model,
  CASE WHEN contains(message::VARCHAR, '"tool_use"')
    THEN nullif(to_json(skein.blocks(body, 'tool_use'))::VARCHAR, '[]')::JSON END AS tool_uses,
  json_extract(message, '$.usage') AS token_usage,
  slug,
  git_branch,
  cwd,
  file,
  line,
  coalesce(agent_id, line_agent_id) AS agent_id,
  coalesce(is_sidechain_text = 'true', false) AS is_sidechain
-- Taken out once, below: the text of a message is asked for several times.
FROM (SELECT *, json_extract(message, '$.content') AS body FROM skein.rows);

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

-- The cache is often frozen: the days that it lacks are counted from the transcripts.
CREATE VIEW main.claude_stats AS
SELECT date, message_count, session_count, tool_call_count, 'cache' AS origin FROM skein.stats_cache
UNION ALL
SELECT date, message_count, session_count, tool_call_count, 'computed' FROM (
  SELECT TRY_CAST(timestamp_text AS TIMESTAMP)::DATE AS date,
    count(*)::INTEGER AS message_count,
    count(DISTINCT coalesce(session_id, line_session_id))::INTEGER AS session_count,
    coalesce(sum(len(skein.blocks(json_extract(message, '$.content'), 'tool_use'))), 0)::INTEGER AS tool_call_count
  FROM skein.rows WHERE type IN ('user', 'assistant') GROUP BY ALL)
WHERE date IS NOT NULL AND date NOT IN (SELECT date FROM skein.stats_cache);
`;
