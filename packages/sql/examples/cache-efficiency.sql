-- How much of the input came from the cache?
SELECT project_path, round(100.0 * sum(cache_read_input_tokens) /
  nullif(sum(input_tokens + cache_creation_input_tokens + cache_read_input_tokens), 0), 1) AS percent, sum(calls) AS calls
FROM history.responses GROUP BY ALL ORDER BY calls DESC LIMIT 20;
