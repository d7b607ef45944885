/**
 * Computes usage and cost, and counts each model call once.
 *
 * Claude Code writes a call as one line for each content block, and early lines have placeholder counters. Resumes and
 * forks write the call again. So lines with the same message id and request id are one call, with the largest value of
 * each counter. A line without a request id belongs to the first call with its message id. A copy in a side chain has
 * another request id, and belongs to the same first call.
 *
 * A "request" is the record of one call in one file. Requests are ordered by a key: the time, whether the request is in
 * a side chain, the number of the file, whether the request id is missing, and a hash of the request id. Keys are
 * unique, so every reader finds the same request first.
 */
import { WEB_SEARCH_MICROS } from "@skein/protocol/prices";
import type { ViewPlace } from "./view-place.ts";
import { priced } from "./prices.ts";

const counter = (path: string): string => `greatest(0, coalesce(max(answer.usage.${path}), 0))`;

/** The model name for web searches without calls in a transcript. */
const SEARCH = "web-search";
/** The cost in pico-dollars. */
const COST = `if(c.calls = 0, c.searches * ${WEB_SEARCH_MICROS * 1_000_000}::HUGEINT, coalesce(c.cost_picos, c.picos))`;

/** The time of a line without a timestamp. It is later than all other times. */
const NEVER = "9e15::BIGINT";

/**
 * The bits of a key: 54 and the sign for the time and the side chain, 32 for the file, 40 for the request id. Values in
 * the key need no separate columns, so comparing each call with all others is faster.
 */
const KEY =
  "((r.time * 2 + r.is_side::BIGINT)::HUGEINT * 4294967296 + f.file_id) * 1099511627776" +
  " + (r.request_id = '')::BIGINT * 549755813888 + (hash(r.request_id) >> 25)";
const TIME = "(key >> 73)::BIGINT";
const FILE_ID = "((key >> 40) & 4294967295)::BIGINT";
const side = (key: string): string => `((${key} >> 72) & 1)`;

const isAnswer = (line: string): string =>
  `${line}message.usage IS NOT NULL AND ${line}message.model IS DISTINCT FROM '<synthetic>' AND (${line}message.id <> '' OR ${line}uuid IS NOT NULL`;

/**
 * Returns the requests of all files in one pass over the lines. They come from answers, from lines of subagents that
 * versions 2.1.12 to 2.1.8x wrote into progress lines of their parents, and from results that count web searches
 * without calls in a transcript. Such a result is a request without tokens. It counts only if no call in its file
 * reports searches.
 */
export const requests = (answers: string): string => `
SELECT place, id, request_id, moment >> 1 AS time, moment & 1 = 1 AS is_side, model, line, input, output, cache_write, cache_read,
  write_5m, write_1h, searches, fast, lines, calls, NULL::HUGEINT AS cost_picos
FROM (
  -- Grouping the rows by file takes a third of the query's time, so the rows are grouped only if there is such a result.
  SELECT *, max(searches) FILTER (calls = 1) OVER (PARTITION BY if(fewest_calls = 0, place, NULL)) AS fees
  FROM (SELECT *, min(calls) OVER () AS fewest_calls FROM (
    SELECT place, id, request_id, if(is_search, 0, 1) AS calls, min(moment) AS moment, model,
      arg_min(line, moment::HUGEINT * 4294967296 + line) AS line,
      ${counter("input_tokens")} AS input,
      ${counter("output_tokens")} AS output,
      ${counter("cache_creation_input_tokens")} AS cache_write,
      ${counter("cache_read_input_tokens")} AS cache_read,
      ${counter("cache_creation.ephemeral_5m_input_tokens")} AS write_5m,
      ${counter("cache_creation.ephemeral_1h_input_tokens")} AS write_1h,
      greatest(0, coalesce(max(searches), 0)) AS searches,
      bool_or(coalesce(answer.usage.speed = 'fast', false)) AS fast, count(*) AS lines
    FROM (
      SELECT place, line, type = 'user' AS is_search, answer,
        CASE type WHEN 'user' THEN uuid WHEN 'progress' THEN coalesce(nullif(answer.id, ''), inner_line.uuid, uuid)
          ELSE coalesce(nullif(answer.id, ''), uuid) END AS id,
        CASE type WHEN 'user' THEN '' WHEN 'progress' THEN coalesce(inner_line."requestId", "requestId", '') ELSE coalesce("requestId", '') END AS request_id,
        coalesce(epoch_ms(skein.time(CASE type WHEN 'progress' THEN coalesce(inner_line.timestamp, timestamp) ELSE timestamp END)), ${NEVER}) * 2
          + (type = 'progress' OR skein.is_true("isSidechain"))::BIGINT AS moment,
        if(type = 'user', '${SEARCH}', coalesce(answer.model, '')) AS model,
        if(type = 'user', TRY_CAST(search_count AS BIGINT), answer.usage.server_tool_use.web_search_requests) AS searches
      FROM (
        SELECT *, "toolUseResult"."searchCount" AS search_count, CASE WHEN type = 'progress' THEN inner_line.message ELSE message END AS answer
        FROM (SELECT *, CASE WHEN type = 'progress' THEN skein.inner_line(data.message) END AS inner_line FROM ${answers})
      )
      -- One CASE, because DuckDB may reorder the conditions of an AND, and is_void must come first.
      WHERE CASE WHEN skein.is_void(type) THEN false ELSE CASE type
        WHEN 'assistant' THEN ${isAnswer("")})
        WHEN 'user' THEN uuid IS NOT NULL AND json_type("toolUseResult"."searchCount") IN ('UBIGINT', 'BIGINT')
        WHEN 'progress' THEN data.type = 'agent_progress' AND ${isAnswer("inner_line.")} OR uuid IS NOT NULL) END END
    ) GROUP BY place, id, request_id, model, is_search
  ))
) WHERE calls = 1 OR coalesce(fees, 0) = 0`;

/** A query without rows that has the columns and types of requests. */
export const NO_REQUESTS = `SELECT 0::BIGINT AS place, '' AS id, '' AS request_id, 0::BIGINT AS time, false AS is_side, '' AS model, 0::BIGINT AS line,
  0::BIGINT AS input, 0::BIGINT AS output, 0::BIGINT AS cache_write, 0::BIGINT AS cache_read, 0::BIGINT AS write_5m, 0::BIGINT AS write_1h,
  0::BIGINT AS searches, false AS fast, 0::BIGINT AS lines, 0 AS calls, 0::HUGEINT AS cost_picos WHERE false`;

/**
 * Each step refers to the step before it once. If a step is used twice, DuckDB materializes even the columns that the
 * query does not need.
 */
export const responses = ({ schema, files, source }: ViewPlace): string => `
CREATE VIEW ${schema}.responses AS
WITH requests AS (
  SELECT id, request_id, calls, min(key) AS key, arg_min(model, key) AS model, arg_min(line, key) AS line, max(input) AS input,
    max(output) AS output, max(cache_write) AS cache_write, max(cache_read) AS cache_read, max(write_5m) AS write_5m,
    max(write_1h) AS write_1h, max(searches) AS searches, bool_or(fast) AS fast, sum(lines) AS lines, count(*) AS parts,
    any_value(cost_picos) AS cost_picos
  FROM (SELECT r.*, ${KEY} AS key FROM skein.request r JOIN ${files} f USING (place)) GROUP BY id, request_id, calls
), placed AS (
  SELECT *, min(key) OVER message AS first_key, arg_min(request_id, key) OVER message AS first_request
  FROM requests WINDOW message AS (PARTITION BY id, calls)
), merged AS (
  SELECT id, if(request_id = '' OR first_request = '' OR ${side("key")} <> ${side("first_key")}, first_request, request_id) AS request_id, calls,
    min(key) AS key, arg_min(model, key) AS model, arg_min(line, key) AS line, max(input) AS input, max(output) AS output,
    max(cache_write) AS cache_write, max(cache_read) AS cache_read, max(write_5m) AS write_5m, max(write_1h) AS write_1h,
    max(searches) AS searches, bool_or(fast) AS fast, sum(lines)::BIGINT AS lines,
    if(sum(parts) = 1, any_value(cost_picos), NULL) AS cost_picos
  FROM placed GROUP BY ALL
), counted AS (
  SELECT id, request_id, calls, ${TIME} AS time, ${side("key")} = 1 AS is_side, ${FILE_ID} AS file_id, model, line, input, output, cache_write,
    cache_read, write_5m, write_1h, searches, fast, lines, cost_picos FROM merged
  UNION ALL
  -- Calls that are in only one file, under one request id, according to the copy.
  SELECT r.id, r.request_id, r.calls, r.time, r.is_side, f.file_id, r.model, r.line, r.input, r.output, r.cache_write,
    r.cache_read, r.write_5m, r.write_1h, r.searches, r.fast, r.lines, r.cost_picos
  FROM skein.single_request r JOIN ${files} f USING (place)
), charged AS (${priced("SELECT *, CASE WHEN cost_picos IS NULL THEN skein.rates(model, time) END AS rates FROM counted")}
)
SELECT ${source}c.id AS response_id, nullif(c.request_id, '') AS request_id, f.session_id, f.project_path, f.agent_id,
  if(c.time >= ${NEVER}, NULL, make_timestamp_ms(c.time)) AS timestamp, c.model,
  c.input AS input_tokens, c.output AS output_tokens, c.cache_write AS cache_creation_input_tokens,
  c.long_write AS cache_creation_1h_input_tokens, c.cache_read AS cache_read_input_tokens, c.searches AS web_search_requests,
  c.fast AS is_fast, c.is_side AS is_sidechain, c.calls::INTEGER AS calls, c.lines, ((${COST} + 500000) // 1000000)::BIGINT AS cost_micros,
  (${COST})::DECIMAL(38, 0) * 0.000000000001::DECIMAL(13, 12) AS cost_usd, f.file, c.line
FROM charged c JOIN ${files} f USING (file_id)
-- A line without tokens is no call: Skein writes such lines for copies of other agents' answers, and for simulated ones.
WHERE greatest(c.input, c.output, c.cache_write, c.cache_read, c.searches) > 0;
`;

/** Returns requests with their cost, in the form that the copy stores. */
export const pricedRequests = (requests: string): string =>
  `SELECT * EXCLUDE (rates, short_write, long_write, is_long, picos) REPLACE (picos AS cost_picos)
FROM (${priced(`SELECT *, skein.rates(model, time) AS rates FROM (${requests})`)})`;
