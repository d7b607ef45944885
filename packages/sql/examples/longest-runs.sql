-- Which runs on the platform took longest?
SELECT left(user_message, 60) AS prompt, date_diff('second', started_at, completed_at) AS seconds, total_steps AS steps, run_id
FROM agent.conversation_history WHERE completed_at IS NOT NULL ORDER BY seconds DESC LIMIT 20;
