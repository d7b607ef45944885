-- What did each project cost, week by week?
SELECT date_trunc('week', timestamp)::DATE AS week, project_path, round(sum(cost_usd), 2) AS usd, sum(calls) AS calls
FROM history.responses GROUP BY ALL ORDER BY week DESC, usd DESC LIMIT 50;
