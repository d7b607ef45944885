-- Which tool calls took longest?
SELECT name, round(duration_ms / 1000.0, 1) AS seconds, left(input::VARCHAR, 80) AS input, session_id
FROM history.tool_calls WHERE duration_ms IS NOT NULL ORDER BY duration_ms DESC LIMIT 20;
