-- What did I ask about tests? (Change the word.)
SELECT timestamp, project_path, left(human_prompt, 100) AS prompt
FROM claude.messages WHERE contains(lower(human_prompt), 'test') ORDER BY timestamp DESC LIMIT 20;
