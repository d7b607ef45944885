/** The questions whose times have goals: as queries over the tables, and as hand-written queries. */
const OPTIONS = "format = 'newline_delimited', ignore_errors = true, maximum_object_size = 16777216";

export interface Question {
  readonly what: string;
  readonly ours: string;
  /** The hand-written query over `FILES`. It follows the same rules and gives the same answer. */
  readonly bare: string;
}

const ANSWER = "STRUCT(id VARCHAR, model VARCHAR, usage STRUCT(input_tokens BIGINT, output_tokens BIGINT))";

/**
 * Joins the transcript lines of one model answer into one model call. Lines without a request id, and copies in a side
 * chain, join the first call with the same message id.
 */
const CALLS = `WITH lines AS (
      SELECT coalesce(data.message.uuid, uuid) AS uuid, coalesce(data.message."requestId", "requestId", '') AS request,
        coalesce(data.message.timestamp, timestamp) AS moment, type = 'progress' OR coalesce("isSidechain", false) AS side,
        if(type = 'progress', data.message.message, message) AS message
      FROM read_ndjson(FILES, columns = {type: 'VARCHAR', uuid: 'VARCHAR', 'requestId': 'VARCHAR', timestamp: 'TIMESTAMP',
        'isSidechain': 'BOOLEAN', message: '${ANSWER}',
        data: 'STRUCT(type VARCHAR, message STRUCT(uuid VARCHAR, "requestId" VARCHAR, timestamp TIMESTAMP, message ${ANSWER}))'}, ${OPTIONS})
      WHERE type = 'assistant' OR (type = 'progress' AND data.type = 'agent_progress')
    ), calls AS (
      SELECT coalesce(nullif(message.id, ''), uuid) AS id, request, min(moment) AS moment, arg_min(side, moment) AS side,
        any_value(message.model) AS model, max(message.usage.output_tokens) AS output, max(message.usage.input_tokens) AS input
      FROM lines WHERE message.usage IS NOT NULL AND message.model <> '<synthetic>' GROUP BY ALL
    ), placed AS (
      SELECT *, first_value(request) OVER earliest AS first_request, first_value(side) OVER earliest AS first_side
      FROM calls WINDOW earliest AS (PARTITION BY id ORDER BY moment, side, request)
    ), merged AS (
      SELECT id, if(request = '' OR first_request = '' OR side <> first_side, first_request, request) AS request, min(moment) AS moment,
        arg_min(model, moment) AS model, max(output) AS output, max(input) AS input FROM placed GROUP BY ALL
    )`;

function callsWithResults(source = "'' AS source", more = ""): string {
  return `WITH blocks AS (SELECT ${source}, unnest(json_extract(message, '$.content[*]')) AS b FROM
        read_ndjson(FILES, columns = {message: 'JSON'}, ${more}${OPTIONS})),
      calls AS (SELECT source, json_extract_string(b, '$.id') AS id, json_extract_string(b, '$.name') AS name FROM blocks
        WHERE json_extract_string(b, '$.type') = 'tool_use'),
      results AS (SELECT json_extract_string(b, '$.tool_use_id') AS id, json_extract_string(b, '$.is_error') AS e FROM blocks
        WHERE json_extract_string(b, '$.type') = 'tool_result')
      SELECT source, name, count(*), count(*) FILTER (e = 'true') FROM calls LEFT JOIN results USING (id) GROUP BY ALL`;
}

export const QUESTIONS: readonly Question[] = [
  {
    what: "group by type",
    ours: "SELECT message_type, count(*) FROM claude_conversations GROUP BY 1",
    bare: `SELECT type, count(*) FROM read_ndjson(FILES, columns = {type: 'VARCHAR'}, ${OPTIONS}) GROUP BY 1`,
  },
  {
    what: "usage by day and model",
    ours: "SELECT timestamp::DATE, model, sum(output_tokens), sum(input_tokens) FROM claude.responses GROUP BY ALL",
    bare: `${CALLS}
    SELECT moment::DATE, model, sum(output), sum(input) FROM merged GROUP BY ALL`,
  },
  {
    what: "text search",
    ours: "SELECT count(*) FROM claude_conversations WHERE contains(content, 'callback update')",
    bare: `SELECT count(*) FROM read_ndjson(FILES, columns = {message: 'STRUCT(content JSON)'}, ${OPTIONS})
      WHERE contains(message.content, 'callback update')`,
  },
  {
    what: "calls with results",
    ours: "SELECT name, count(*), count(*) FILTER (is_error) FROM claude.tool_calls GROUP BY 1",
    bare: callsWithResults(),
  },
];

/**
 * The agent of a file. Skein translates the sessions of every agent except Claude Code to files of JSON lines, whose
 * paths contain the agent's name. All other files are Claude Code's.
 */
const SOURCE = "coalesce(nullif(regexp_extract(filename, '/agents/([a-z-]+)-[0-9a-f]{16}/', 1), ''), 'claude-code')";

/** Questions over the sessions of all agents. Tables and hand-written queries read the same files. */
export const QUESTIONS_OF_ALL: readonly Question[] = [
  {
    what: "all agents: calls with results",
    ours: "SELECT source, name, count(*), count(*) FILTER (is_error) FROM history.tool_calls GROUP BY ALL",
    bare: callsWithResults(`${SOURCE} AS source`, "filename = true, "),
  },
  {
    what: "all agents: usage by model",
    ours: "SELECT model, sum(output_tokens), sum(input_tokens) FROM history.responses GROUP BY ALL",
    bare: `${CALLS}
    SELECT model, sum(output), sum(input) FROM merged GROUP BY ALL`,
  },
];
