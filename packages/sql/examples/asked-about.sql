-- What did I ask about tests? (Change the word.)
SELECT timestamp, source, project_path, left(human_prompt, 100) AS prompt
FROM history.messages WHERE contains(lower(human_prompt), 'test') ORDER BY timestamp DESC LIMIT 20;
