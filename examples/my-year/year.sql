-- The year in one line.
SELECT count(DISTINCT session_id) AS sessions, count(DISTINCT timestamp::DATE) AS days, sum(calls) AS model_calls,
  round(sum(output_tokens) / 1e6, 2) AS million_tokens_written, round(sum(cost_usd), 2) AS usd
FROM history.responses;

-- What each agent did.
SELECT source, count(DISTINCT session_id) AS sessions, sum(calls) AS model_calls, round(sum(cost_usd), 2) AS usd
FROM history.responses GROUP BY source ORDER BY model_calls DESC;

-- The months.
SELECT strftime(timestamp, '%Y-%m') AS month, count(DISTINCT session_id) AS sessions, round(sum(cost_usd), 2) AS usd
FROM history.responses GROUP BY month ORDER BY month;

-- The hours of the day, in UTC.
SELECT hour(timestamp) AS hour, count(*) AS answers, bar(count(*), 0, max(count(*)) OVER (), 30) AS chart
FROM history.responses GROUP BY hour ORDER BY hour;

-- The projects that took most.
SELECT project_path, count(DISTINCT session_id) AS sessions, round(sum(cost_usd), 2) AS usd
FROM history.responses GROUP BY project_path ORDER BY usd DESC NULLS LAST LIMIT 10;

-- The tools, and how often they failed.
SELECT name, count(*) AS calls, round(100.0 * count(*) FILTER (WHERE is_error) / count(*), 1) AS failed_percent
FROM history.tool_calls GROUP BY name ORDER BY calls DESC LIMIT 15;
