-- move: document MeetAgain, Claim, Retry
-- A reason to visit a document that is there; one that waits already is wanted once more.
-- Differs from SQLite: one statement per batch, lists as arrays.
INSERT INTO queue (document, job, due, run, reason, request_count)
SELECT c1, c2, c3, c4, c5, 1 FROM {rows:bigint,bigint,bigint,bigint,text} WHERE EXISTS (SELECT 1 FROM document d WHERE d.id = c1)
ON CONFLICT (document) DO UPDATE SET request_count = queue.request_count + 1, run = excluded.run,
 reason = CASE WHEN queue.reason = 'access' THEN queue.reason ELSE excluded.reason END,
 due = CASE WHEN excluded.due < queue.due THEN excluded.due ELSE queue.due END
