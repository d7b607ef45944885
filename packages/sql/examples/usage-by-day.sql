-- How many tokens did each model use, day by day?
SELECT timestamp::DATE AS day, model, sum(input_tokens) AS input, sum(output_tokens) AS output,
  sum(cache_read_input_tokens) AS cache_read, round(sum(cost_usd), 2) AS usd
FROM history.responses GROUP BY ALL ORDER BY day DESC, usd DESC LIMIT 50;
