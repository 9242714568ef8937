-- move: document MeetAgain, Claim, Retry
-- A reason to visit a document that is there; one that waits already is wanted once more.
-- Differs from PostgreSQL: one row per call beats a list here.
INSERT INTO queue (document, job, due, run, reason, request_count) SELECT $1, $2, $3, $4, $5, 1
WHERE EXISTS (SELECT 1 FROM document d WHERE d.id = $1)
ON CONFLICT (document) DO UPDATE SET request_count = queue.request_count + 1, run = excluded.run,
 reason = CASE WHEN queue.reason = 'access' THEN queue.reason ELSE excluded.reason END,
 due = CASE WHEN excluded.due < queue.due THEN excluded.due ELSE queue.due END
