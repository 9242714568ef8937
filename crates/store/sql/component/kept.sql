-- Documents of a job of which something could not be read when they were read last.
SELECT DISTINCT c.document FROM component c JOIN document d ON d.id = c.document WHERE c.kept = 1 AND d.job = $1
