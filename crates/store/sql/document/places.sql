-- Places that documents of a job are in.
SELECT DISTINCT place FROM document WHERE job = $1 AND place IS NOT NULL
