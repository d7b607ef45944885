-- Which files were edited most?
SELECT input ->> '$.file_path' AS path, count(*) AS edits, count(DISTINCT session_id) AS sessions
FROM history.tool_calls WHERE name IN ('Edit', 'Write', 'MultiEdit', 'NotebookEdit') GROUP BY ALL ORDER BY edits DESC LIMIT 20;
