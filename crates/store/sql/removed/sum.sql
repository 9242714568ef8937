-- How many documents passes of a job have removed since a minute.
SELECT CAST(COALESCE(SUM(documents), 0) AS BIGINT) FROM removed WHERE job = $1 AND minute >= $2
