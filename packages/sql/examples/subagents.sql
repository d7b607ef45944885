-- What did subagents do, and what did they cost?
SELECT a.agent_type, count(DISTINCT a.file) AS agents, round(sum(r.cost_usd), 2) AS usd, sum(r.calls) AS calls
FROM history.agents a LEFT JOIN history.responses r USING (file) GROUP BY ALL ORDER BY usd DESC NULLS LAST LIMIT 20;
