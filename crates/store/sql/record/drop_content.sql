-- The content of all records of a job that is to go.
DELETE FROM record_content WHERE document IN (SELECT document FROM record WHERE job = $1)
