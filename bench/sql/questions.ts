/** The questions of the goals, asked of the tables and by hand. */
const OPTIONS = "format = 'newline_delimited', ignore_errors = true, maximum_object_size = 16777216";

export interface Question {
  readonly what: string;
  readonly ours: string;
  /** The same by hand, over `FILES`. */
  readonly bare: string;
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
    bare: `SELECT day, model, sum(output), sum(input) FROM (
      SELECT message.id, requestId, min(timestamp)::DATE AS day, any_value(message.model) AS model,
        max(message.usage.output_tokens) AS output, max(message.usage.input_tokens) AS input
      FROM read_ndjson(FILES, columns = {type: 'VARCHAR', requestId: 'VARCHAR', timestamp: 'TIMESTAMP',
        message: 'STRUCT(id VARCHAR, model VARCHAR, usage STRUCT(output_tokens BIGINT, input_tokens BIGINT))'}, ${OPTIONS})
      WHERE type = 'assistant' GROUP BY ALL) GROUP BY ALL`,
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
    bare: `WITH blocks AS (SELECT unnest(json_extract(message, '$.content[*]')) AS b FROM
        read_ndjson(FILES, columns = {message: 'JSON'}, ${OPTIONS})),
      calls AS (SELECT json_extract_string(b, '$.id') AS id, json_extract_string(b, '$.name') AS name FROM blocks
        WHERE json_extract_string(b, '$.type') = 'tool_use'),
      results AS (SELECT json_extract_string(b, '$.tool_use_id') AS id, json_extract_string(b, '$.is_error') AS e FROM blocks
        WHERE json_extract_string(b, '$.type') = 'tool_result')
      SELECT name, count(*), count(*) FILTER (e = 'true') FROM calls LEFT JOIN results USING (id) GROUP BY 1`,
  },
];
