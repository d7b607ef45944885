-- What in the files is damaged?
SELECT kind, count(*) AS places, count(DISTINCT file) AS files FROM history.damage GROUP BY ALL ORDER BY places DESC;
