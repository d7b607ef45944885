/** Questions that are worth asking. Each is run by a test. */
export interface Example {
  readonly name: string;
  readonly question: string;
  readonly sql: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    name: "cost-by-week",
    question: "What did each project cost, week by week?",
    sql: `SELECT date_trunc('week', timestamp)::DATE AS week, project_path, round(sum(cost_usd), 2) AS usd, sum(calls) AS calls
FROM claude.responses GROUP BY ALL ORDER BY week DESC, usd DESC LIMIT 50`,
  },
  {
    name: "usage-by-day",
    question: "How many tokens of which model, day by day?",
    sql: `SELECT timestamp::DATE AS day, model, sum(input_tokens) AS input, sum(output_tokens) AS output,
  sum(cache_read_input_tokens) AS cache_read, round(sum(cost_usd), 2) AS usd
FROM claude.responses GROUP BY ALL ORDER BY day DESC, usd DESC LIMIT 50`,
  },
  {
    name: "failing-tools",
    question: "Which tools fail most?",
    sql: `SELECT name, count(*) AS calls, count(*) FILTER (is_error) AS errors,
  round(100.0 * count(*) FILTER (is_error) / count(*), 1) AS percent
FROM claude.tool_calls GROUP BY name ORDER BY errors DESC, calls DESC LIMIT 20`,
  },
  {
    name: "slow-tools",
    question: "Which calls took longest?",
    sql: `SELECT name, round(duration_ms / 1000.0, 1) AS seconds, left(input::VARCHAR, 80) AS input, session_id
FROM claude.tool_calls WHERE duration_ms IS NOT NULL ORDER BY duration_ms DESC LIMIT 20`,
  },
  {
    name: "asked-about",
    question: "What did I ask about tests? (Change the word.)",
    sql: `SELECT timestamp, project_path, left(human_prompt, 100) AS prompt
FROM claude.messages WHERE contains(lower(human_prompt), 'test') ORDER BY timestamp DESC LIMIT 20`,
  },
  {
    name: "longest-sessions",
    question: "Which sessions went on longest?",
    sql: `SELECT title, date_diff('minute', started_at, last_activity_at) AS minutes, message_count AS messages, session_id
FROM claude.sessions ORDER BY minutes DESC LIMIT 20`,
  },
  {
    name: "longest-runs",
    question: "Which runs on the platform took longest?",
    sql: `SELECT left(user_message, 60) AS prompt, date_diff('second', started_at, completed_at) AS seconds, total_steps AS steps, run_id
FROM agent.conversation_history WHERE completed_at IS NOT NULL ORDER BY seconds DESC LIMIT 20`,
  },
  {
    name: "cache-efficiency",
    question: "How much of the input came from the cache?",
    sql: `SELECT project_path, round(100.0 * sum(cache_read_input_tokens) /
  nullif(sum(input_tokens + cache_creation_input_tokens + cache_read_input_tokens), 0), 1) AS percent, sum(calls) AS calls
FROM claude.responses GROUP BY ALL ORDER BY calls DESC LIMIT 20`,
  },
  {
    name: "edited-files",
    question: "Which files were edited most?",
    sql: `SELECT input ->> '$.file_path' AS path, count(*) AS edits, count(DISTINCT session_id) AS sessions
FROM claude.tool_calls WHERE name IN ('Edit', 'Write', 'MultiEdit', 'NotebookEdit') GROUP BY ALL ORDER BY edits DESC LIMIT 20`,
  },
  {
    name: "first-answer",
    question: "How long did a prompt wait for its first answer?",
    sql: `SELECT a.model, count(*) AS prompts, round(median(date_diff('millisecond', p.timestamp, a.timestamp)) / 1000.0, 1) AS median_seconds
FROM claude.messages p JOIN claude.messages a ON a.parent_uuid = p.uuid AND a.file = p.file
WHERE p.human_prompt IS NOT NULL AND a.role = 'assistant' GROUP BY ALL ORDER BY prompts DESC`,
  },
  {
    name: "subagents",
    question: "What did subagents do, and what did they cost?",
    sql: `SELECT a.agent_type, count(DISTINCT a.file) AS agents, round(sum(r.cost_usd), 2) AS usd, sum(r.calls) AS calls
FROM claude.agents a LEFT JOIN claude.responses r USING (file) GROUP BY ALL ORDER BY usd DESC NULLS LAST LIMIT 20`,
  },
  {
    name: "damage",
    question: "What in the files is damaged?",
    sql: `SELECT kind, count(*) AS places, count(DISTINCT file) AS files FROM claude.damage GROUP BY ALL ORDER BY places DESC`,
  },
];
