-- What in the files is damaged?
SELECT kind, count(*) AS places, count(DISTINCT file) AS files FROM claude.damage GROUP BY ALL ORDER BY places DESC;
