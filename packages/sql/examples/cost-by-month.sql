-- What did each agent cost, month by month?
SELECT date_trunc('month', timestamp)::DATE AS month, source, round(sum(cost_usd), 2) AS usd, sum(calls) AS calls
FROM history.responses GROUP BY ALL ORDER BY month DESC, usd DESC NULLS LAST LIMIT 50;
