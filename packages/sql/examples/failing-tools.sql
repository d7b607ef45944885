-- Which tools fail most?
SELECT name, count(*) AS calls, count(*) FILTER (is_error) AS errors,
  round(100.0 * count(*) FILTER (is_error) / count(*), 1) AS percent
FROM history.tool_calls GROUP BY name ORDER BY errors DESC, calls DESC LIMIT 20;
