-- move: document MeetAgain, Claim, Retry
-- A reason to visit a document later: what is buffered already waits with it; what is due by now, or wanted for another reason, does not.
-- Differs from PostgreSQL: one row per call beats a list here.
INSERT INTO queue (document, job, due, run, reason, request_count) SELECT $1, $2, $3, $4, 'changed', 1
WHERE EXISTS (SELECT 1 FROM document d WHERE d.id = $1)
ON CONFLICT (document) DO UPDATE SET request_count = queue.request_count + 1, run = excluded.run,
 reason = CASE WHEN queue.reason = 'access' THEN queue.reason ELSE excluded.reason END,
 due = CASE WHEN (queue.reason IN ('changed', 'retry') AND queue.due > $5) OR excluded.due < queue.due THEN excluded.due ELSE queue.due END
