-- How many documents of a job were erased.
SELECT CAST(count(*) AS BIGINT) FROM erased WHERE job = $1
