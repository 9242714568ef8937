-- How many addresses were erased for all jobs, or for the job of this name.
SELECT CAST(count(*) AS BIGINT) FROM erased_address WHERE job = $1
