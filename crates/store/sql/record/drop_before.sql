-- What is kept of records of a job that is to go as outputs have them.
DELETE FROM record_before WHERE document IN (SELECT document FROM record WHERE job = $1)
