/**
 * Usage and cost, each model call counted once.
 *
 * One call is written as one line per content block, early lines with placeholders, and again by resumes and forks. So
 * lines of the same message and request are one call with the largest of each counter; a line that does not name its
 * request, and a copy in a side chain (which names another), belong to the first call of that message.
 *
 * A request is what one file says of a call. Its key orders it: the time, whether it is of a side chain, the file's number. No two
 * are equal, so that whoever reads finds the same one first.
 */
import { WEB_SEARCH_MICROS } from "@skein/protocol/prices";
import { priced } from "./prices.ts";

const ANSWER = JSON.stringify({
  id: "VARCHAR",
  model: "VARCHAR",
  usage: {
    input_tokens: "DOUBLE",
    output_tokens: "DOUBLE",
    cache_creation_input_tokens: "DOUBLE",
    cache_read_input_tokens: "DOUBLE",
    cache_creation: { ephemeral_5m_input_tokens: "DOUBLE", ephemeral_1h_input_tokens: "DOUBLE" },
    server_tool_use: { web_search_requests: "DOUBLE" },
    speed: "VARCHAR",
  },
});

const counter = (path: string): string => `max(greatest(0, coalesce(usage.${path}, 0))::BIGINT)`;

/** A key has room for as many lines of a file, or files. */
const MANY = "4294967296";

/** The model that stands for searches of which only their results tell. */
const SEARCH = "web-search";
const COST = `if(c.calls = 0, c.searches * ${WEB_SEARCH_MICROS}, coalesce(c.cost_micros, c.micros))`;

/** Later than every time: a line without one. */
const NEVER = "9e15::BIGINT";

/**
 * What a question reads, in one pass over the lines: answers; lines of subagents that versions 2.1.12 to 2.1.8x wrote into
 * progress lines of their parents; and results that tell of web searches whose calls no transcript has. The last are
 * requests without tokens, and count only where no call of their file tells of searches.
 */
export const REQUESTS = `
SELECT * EXCLUDE (fees) FROM (
  SELECT *, max(searches) FILTER (calls = 1) OVER (PARTITION BY place) AS fees FROM (
    SELECT place, id, request_id, min(time) AS time, arg_min(is_side, time * 2 + is_side::BIGINT) AS is_side, min(model) AS model,
      arg_min(line, (time * 2 + is_side::BIGINT)::HUGEINT * ${MANY} + line) AS line,
      ${counter("input_tokens")} AS input,
      ${counter("output_tokens")} AS output,
      ${counter("cache_creation_input_tokens")} AS cache_write,
      ${counter("cache_read_input_tokens")} AS cache_read,
      ${counter("cache_creation.ephemeral_5m_input_tokens")} AS write_5m,
      ${counter("cache_creation.ephemeral_1h_input_tokens")} AS write_1h,
      greatest(${counter("server_tool_use.web_search_requests")}, coalesce(max(searches), 0)) AS searches,
      bool_or(coalesce(usage.speed = 'fast', false)) AS fast, count(*) AS lines, if(model = '${SEARCH}', 0, 1) AS calls,
      NULL::BIGINT AS cost_micros
    FROM (
      SELECT place, line, searches, is_side, coalesce(epoch_ms(skein.time(timestamp_text)), ${NEVER}) AS time,
        CASE WHEN searches IS NULL THEN coalesce(nullif(message.id, ''), uuid) ELSE uuid END AS id, request_id,
        if(searches IS NULL, coalesce(message.model, ''), '${SEARCH}') AS model, message.usage AS usage
      FROM (
        SELECT place, line, type <> 'assistant' AND type <> 'user' OR skein.is_true(is_sidechain_text) AS is_side,
          -- Out of a list, because a condition on what is walked would otherwise walk it once more.
          unnest([json_transform(CASE type WHEN 'assistant' THEN message WHEN 'progress' THEN json_extract(data, '$.message.message') END, '${ANSWER}')]) AS message,
          CASE type WHEN 'progress' THEN coalesce(json_extract_string(data, '$.message.uuid'), uuid) ELSE uuid END AS uuid,
          CASE type WHEN 'user' THEN '' WHEN 'progress' THEN coalesce(json_extract_string(data, '$.message.requestId'), request_id, '')
            ELSE coalesce(request_id, '') END AS request_id,
          CASE type WHEN 'progress' THEN coalesce(json_extract_string(data, '$.message.timestamp'), timestamp_text) ELSE timestamp_text END AS timestamp_text,
          CASE type WHEN 'user' THEN TRY_CAST(json_extract_string(tool_use_result, '$.searchCount') AS BIGINT) END AS searches
        FROM scan.rows
        -- A CASE, because DuckDB would try the conditions of an AND in an order of its own, the dear ones first too.
        WHERE CASE type WHEN 'assistant' THEN true
          WHEN 'progress' THEN json_extract_string(data, '$.type') = 'agent_progress'
          WHEN 'user' THEN CASE WHEN contains(tool_use_result::VARCHAR, 'hCount"')
            THEN json_type(tool_use_result, '$.searchCount') IN ('UBIGINT', 'BIGINT') END END
      ) WHERE searches IS NOT NULL OR (message.usage IS NOT NULL AND coalesce(message.model, '') <> '<synthetic>')
    ) WHERE id IS NOT NULL GROUP BY place, id, request_id, model = '${SEARCH}'
  )
) WHERE calls = 1 OR coalesce(fees, 0) = 0`;

/**
 * Each step names the one before it once, so that what a question does not ask for is not computed: DuckDB keeps every
 * column of what is named twice.
 */
export const RESPONSES = `
CREATE VIEW claude.responses AS
WITH requests AS (
  SELECT id, request_id, calls, min(key) AS key, min(time) AS time, arg_min(is_side, key) AS is_side, arg_min(file_id, key) AS file_id,
    arg_min(model, key) AS model, arg_min(line, key) AS line, max(input) AS input, max(output) AS output,
    max(cache_write) AS cache_write, max(cache_read) AS cache_read, max(write_5m) AS write_5m, max(write_1h) AS write_1h,
    max(searches) AS searches, bool_or(fast) AS fast, sum(lines) AS lines, count(*) AS parts, any_value(cost_micros) AS cost_micros
  FROM (
    SELECT r.*, f.file_id, (r.time * 2 + r.is_side::BIGINT)::HUGEINT * ${MANY} + f.file_id AS key
    FROM skein.request r JOIN skein.files f USING (place)
  ) GROUP BY id, request_id, calls
), placed AS (
  SELECT *, first_value(is_side) OVER earliest AS first_side, first_value(request_id) OVER earliest AS first_request
  FROM requests WINDOW earliest AS (PARTITION BY id, calls ORDER BY key, request_id = '', request_id)
), merged AS (
  SELECT id, if(request_id = '' OR first_request = '' OR is_side <> first_side, first_request, request_id) AS request_id, calls,
    min(time) AS time, arg_min(is_side, key) AS is_side, arg_min(file_id, key) AS file_id, arg_min(model, key) AS model,
    arg_min(line, key) AS line, max(input) AS input, max(output) AS output, max(cache_write) AS cache_write,
    max(cache_read) AS cache_read, max(write_5m) AS write_5m, max(write_1h) AS write_1h, max(searches) AS searches,
    bool_or(fast) AS fast, sum(lines)::BIGINT AS lines, if(sum(parts) = 1, any_value(cost_micros), NULL) AS cost_micros
  FROM placed GROUP BY ALL
  UNION ALL
  -- Calls that the copy knows to stand in one file only, under one request.
  SELECT r.id, r.request_id, r.calls, r.time, r.is_side, f.file_id, r.model, r.line, r.input, r.output, r.cache_write,
    r.cache_read, r.write_5m, r.write_1h, r.searches, r.fast, r.lines, r.cost_micros
  FROM skein.single_request r JOIN skein.files f USING (place)
), charged AS (${priced("SELECT *, CASE WHEN cost_micros IS NULL THEN skein.rates(model) END AS rates FROM merged")}
)
SELECT c.id AS response_id, nullif(c.request_id, '') AS request_id, f.session_id, f.project_path, f.agent_id,
  if(c.time >= ${NEVER}, NULL, make_timestamp_ms(c.time)) AS timestamp, c.model,
  c.input AS input_tokens, c.output AS output_tokens, c.cache_write AS cache_creation_input_tokens,
  c.long_write AS cache_creation_1h_input_tokens, c.cache_read AS cache_read_input_tokens, c.searches AS web_search_requests,
  c.fast AS is_fast, c.is_side AS is_sidechain, c.calls::INTEGER AS calls, c.lines, ${COST} AS cost_micros,
  (${COST} * 0.000001)::DECIMAL(18, 6) AS cost_usd, f.file, c.line
FROM charged c JOIN skein.files f USING (file_id);
`;

/** A request with its price, as the copy keeps it. */
export const pricedRequests = (requests: string): string =>
  `SELECT * EXCLUDE (rates, short_write, long_write, is_long, micros) REPLACE (micros AS cost_micros)
FROM (${priced(`SELECT *, skein.rates(model) AS rates FROM (${requests})`)})`;
