/**
 * Usage and cost, each model call counted once.
 *
 * One call is written as one line per content block, early lines with placeholders, and again by resumes and forks. So
 * lines of the same message and request are one call with the largest of each counter; a line that does not name its
 * request, and a copy in a side chain (which names another), belong to the first call of that message.
 */
const USAGE = JSON.stringify({
  input_tokens: "DOUBLE",
  output_tokens: "DOUBLE",
  cache_creation_input_tokens: "DOUBLE",
  cache_read_input_tokens: "DOUBLE",
  cache_creation: { ephemeral_5m_input_tokens: "DOUBLE", ephemeral_1h_input_tokens: "DOUBLE" },
  server_tool_use: { web_search_requests: "DOUBLE" },
  speed: "VARCHAR",
});
const MESSAGE = JSON.stringify({ id: "VARCHAR", model: "VARCHAR", usage: "JSON" });

const counter = (path: string): string => `greatest(0, coalesce(usage.${path}, 0))::BIGINT`;

export const RESPONSES = `
CREATE VIEW skein.answers AS
SELECT file_id, line, coalesce(nullif(message.id, ''), uuid) AS id, request_id, is_side, time,
  coalesce(message.model, '') AS model, json_transform(message.usage, '${USAGE}') AS usage
FROM (
  -- Versions 2.1.12 to 2.1.8x wrote the lines of subagents into progress lines of their parents.
  SELECT file_id, line,
    if(type = 'assistant', uuid, coalesce(json_extract_string(data, '$.message.uuid'), uuid)) AS uuid,
    if(type = 'assistant', coalesce(request_id, ''), coalesce(json_extract_string(data, '$.message.requestId'), request_id, '')) AS request_id,
    type = 'progress' OR coalesce(is_sidechain_text = 'true', false) AS is_side,
    coalesce(epoch_ms(TRY_CAST(if(type = 'assistant', timestamp_text,
      coalesce(json_extract_string(data, '$.message.timestamp'), timestamp_text)) AS TIMESTAMP)), 0) AS time,
    json_transform(if(type = 'assistant', message, json_extract(data, '$.message.message')), '${MESSAGE}') AS message
  FROM skein.rows
  WHERE type = 'assistant' OR (type = 'progress' AND json_extract_string(data, '$.type') = 'agent_progress')
) WHERE starts_with(message.usage::VARCHAR, '{') AND coalesce(message.model, '') <> '<synthetic>';

CREATE VIEW skein.calls AS
WITH counted AS (
  SELECT file_id, line, id, request_id, is_side, time, model,
    ${counter("input_tokens")} AS input,
    ${counter("output_tokens")} AS output,
    ${counter("cache_creation_input_tokens")} AS cache_write,
    ${counter("cache_read_input_tokens")} AS cache_read,
    ${counter("cache_creation.ephemeral_5m_input_tokens")} AS write_5m,
    ${counter("cache_creation.ephemeral_1h_input_tokens")} AS write_1h,
    ${counter("server_tool_use.web_search_requests")} AS searches,
    coalesce(usage.speed = 'fast', false) AS fast
  FROM skein.answers WHERE id IS NOT NULL
), requests AS (
  SELECT id, request_id, arg_min({file_id: file_id, line: line, is_side: is_side, model: model}, (if(time = 0, 9e15, time), file_id, line)) AS first,
    min(if(time = 0, 9e15, time)) AS time, max(input) AS input, max(output) AS output, max(cache_write) AS cache_write,
    max(cache_read) AS cache_read, max(write_5m) AS write_5m, max(write_1h) AS write_1h, max(searches) AS searches,
    bool_or(fast) AS fast, count(*) AS lines
  FROM counted GROUP BY id, request_id
), placed AS (
  SELECT *, first_value(request_id) OVER earliest AS first_request, first_value(first.is_side) OVER earliest AS first_side
  FROM requests WINDOW earliest AS (PARTITION BY id ORDER BY time, first.file_id, first.line)
)
SELECT id, if(request_id = '' OR first_request = '' OR first.is_side <> first_side, first_request, request_id) AS request_id,
  arg_min(first, (time, first.file_id, first.line)) AS first, min(time) AS time, max(input) AS input, max(output) AS output,
  max(cache_write) AS cache_write, max(cache_read) AS cache_read, max(write_5m) AS write_5m, max(write_1h) AS write_1h,
  max(searches) AS searches, bool_or(fast) AS fast, sum(lines)::BIGINT AS lines
FROM placed GROUP BY ALL;

-- Searches that only their results tell of. No transcript has the call of the small model that made them.
CREATE VIEW skein.search_fees AS
SELECT uuid, arg_min(file_id, file_id) AS file_id, arg_min(line, file_id) AS line,
  min(TRY_CAST(timestamp_text AS TIMESTAMP)) AS timestamp,
  arg_min(TRY_CAST(json_extract_string(tool_use_result, '$.searchCount') AS BIGINT), file_id) AS searches
FROM skein.rows
WHERE type = 'user' AND contains(tool_use_result::VARCHAR, '"searchCount"')
  AND json_type(tool_use_result, '$.searchCount') IN ('UBIGINT', 'BIGINT') AND uuid IS NOT NULL
GROUP BY uuid;

CREATE VIEW claude.responses AS
WITH counted AS MATERIALIZED (SELECT * FROM skein.calls), calls AS (
  SELECT id AS response_id, nullif(request_id, '') AS request_id, first.file_id AS file_id, first.line AS line,
    if(time >= 9e15, NULL, make_timestamp_ms(time::BIGINT)) AS timestamp, first.model AS model, input, output, cache_write,
    if(write_5m + write_1h = cache_write, write_1h, 0) AS write_1h, cache_read, searches, fast, first.is_side AS is_side,
    lines, 1 AS calls,
    skein_price(first.model, input::DOUBLE, output::DOUBLE, cache_write::DOUBLE, cache_read::DOUBLE, write_5m::DOUBLE, write_1h::DOUBLE, searches::DOUBLE, fast) AS cost_micros
  FROM counted
  UNION ALL
  SELECT uuid, NULL, file_id, line, timestamp, 'web-search', 0, 0, 0, 0, 0, searches, false, false, 1, 0, searches * 10000
  FROM skein.search_fees
  WHERE file_id NOT IN (SELECT first.file_id FROM counted GROUP BY ALL HAVING sum(searches) > 0)
)
SELECT c.response_id, c.request_id, f.session_id, f.project_path, f.agent_id, c.timestamp, c.model,
  c.input AS input_tokens, c.output AS output_tokens, c.cache_write AS cache_creation_input_tokens,
  c.write_1h AS cache_creation_1h_input_tokens, c.cache_read AS cache_read_input_tokens, c.searches AS web_search_requests,
  c.fast AS is_fast, c.is_side AS is_sidechain, c.calls::INTEGER AS calls, c.lines, c.cost_micros,
  (c.cost_micros * 0.000001)::DECIMAL(18, 6) AS cost_usd, f.file, c.line
FROM calls c JOIN skein.files f USING (file_id);
`;
