-- Counts the documents of every job.
INSERT INTO tally (job, name, n) SELECT d.job, 'documents', count(*) FROM document d GROUP BY d.job
