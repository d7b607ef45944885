-- How long did a prompt wait for its first answer?
SELECT a.model, count(*) AS prompts, round(median(date_diff('millisecond', p.timestamp, a.timestamp)) / 1000.0, 1) AS median_seconds
FROM history.messages p JOIN history.messages a ON a.parent_uuid = p.uuid AND a.file = p.file
WHERE p.human_prompt IS NOT NULL AND a.role = 'assistant' GROUP BY ALL ORDER BY prompts DESC;
