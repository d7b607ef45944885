-- Which coding agents did I use, and what did they cost?
SELECT source, count(DISTINCT session_id) AS sessions, sum(calls) AS calls, round(sum(cost_usd), 2) AS usd
FROM history.responses GROUP BY source ORDER BY usd DESC NULLS LAST, calls DESC;
