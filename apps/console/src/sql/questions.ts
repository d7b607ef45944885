import type { SqlExample } from "../api/api.ts";

export interface Question {
  readonly title: string;
  readonly sql: string;
}

/** Questions that read the same kind of sessions. */
export interface QuestionGroup {
  readonly name: string;
  /** Whether the questions read sessions of coding agents, whose tables may be off. */
  readonly readsAgents: boolean;
  readonly questions: readonly Question[];
}

/**
 * Examples of the server that the console does not list. A question of the console gives the same figures for more
 * sessions.
 */
const COVERED: ReadonlySet<string> = new Set(["cache-efficiency"]);

/** Groups the questions of the console and of the server by the sessions that they read. */
export function questionGroups(examples: readonly SqlExample[]): readonly QuestionGroup[] {
  const all = [
    ...QUESTIONS,
    ...examples.filter(({ name }) => !COVERED.has(name)).map(({ question, sql }) => ({ title: question, sql })),
  ];
  return GROUPS.map(({ name, isAbout }, at) => ({
    name,
    readsAgents: at > 0,
    questions: all.filter(({ sql }) => isAbout(schemasOf(sql))),
  })).filter(({ questions }) => questions.length > 0);
}

const GROUPS: readonly { readonly name: string; readonly isAbout: (schemas: ReadonlySet<string>) => boolean }[] = [
  { name: "Sessions of Skein", isAbout: (schemas) => schemas.has("platform") || schemas.has("agent") },
  { name: "Skein and coding agents together", isAbout: (schemas) => schemas.size === 0 },
  { name: "All coding agents", isAbout: (schemas) => schemas.has("history") },
];

/** The schemas that a statement names. A table without a schema has the rows of Skein and of coding agents. */
function schemasOf(sql: string): ReadonlySet<string> {
  return new Set([...sql.matchAll(/\b(platform|agent|history|claude)\.\w/g)].map(([, schema = ""]) => schema));
}

/**
 * Example queries. Each title is the question that the query answers. The table `all_usage` also has the model calls of
 * coding agents.
 */
export const QUESTIONS: readonly Question[] = [
  {
    title: "How often does each tool fail in Skein's sessions, and how long does it take?",
    sql: `-- How often does each tool fail in Skein's sessions, and how long does it take?
SELECT data ->> '$.name' AS tool, count(*) AS calls,
       count(*) FILTER ((data ->> '$.outcome') = 'failed') AS failed,
       count(*) FILTER ((data ->> '$.outcome') = 'unknown') AS unknown,
       median((data ->> '$.duration_ms')::BIGINT) AS median_ms
FROM platform.events
WHERE event_type = 'tool.completed'
GROUP BY 1 ORDER BY calls DESC LIMIT 20`,
  },
  {
    title: "What did each week cost?",
    sql: `-- What did each week cost, by model?
SELECT date_trunc('week', timestamp)::DATE AS week, model,
       round(sum(cost_usd), 2)::DOUBLE AS usd, count(*) AS calls
FROM all_usage GROUP BY ALL ORDER BY week DESC, usd DESC LIMIT 40`,
  },
  {
    title: "How much came from the cache?",
    sql: `-- How much of the input was read from the cache?
SELECT model, sum(cache_read_input_tokens) AS read,
       round(100.0 * sum(cache_read_input_tokens) /
         nullif(sum(input_tokens + cache_creation_input_tokens + cache_read_input_tokens), 0), 1) AS percent
FROM all_usage GROUP BY model ORDER BY read DESC`,
  },
  {
    title: "How do sessions end?",
    sql: `-- How do sessions end, agent by agent?
SELECT a.name AS agent, s.status, count(*) AS sessions
FROM platform.sessions s JOIN platform.agents a ON a.id = s.agent_id
GROUP BY ALL ORDER BY sessions DESC LIMIT 30`,
  },
  {
    title: "How long do people take to answer?",
    sql: `-- How long do questions and approvals wait for a person?
SELECT data ->> '$.resolution' AS resolution, count(*) AS waits,
       round(median((data ->> '$.waited_ms')::BIGINT) / 1000.0, 1) AS median_seconds
FROM platform.events WHERE event_type = 'await.resolved' GROUP BY 1 ORDER BY waits DESC`,
  },
  {
    title: "What was retried?",
    sql: `-- Which model calls had to be made again, and why?
SELECT data ->> '$.error.message' AS why, count(*) AS times, max(created_at) AS last
FROM platform.events WHERE event_type IN ('step.retried', 'step.error') GROUP BY 1 ORDER BY times DESC LIMIT 20`,
  },
];
