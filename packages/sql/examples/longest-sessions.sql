-- Which sessions lasted longest?
SELECT title, date_diff('minute', started_at, last_activity_at) AS minutes, message_count AS messages, session_id
FROM history.sessions ORDER BY minutes DESC LIMIT 20;
