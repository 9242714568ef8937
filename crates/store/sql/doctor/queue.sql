-- move: document MeetAgain
-- Asks for visits of documents that were forgotten.
INSERT INTO queue (document, job, due, run, reason, request_count) SELECT d.id, d.job, 0, 0, 'resend', 1 FROM document d WHERE d.id IN any_of($1)
ON CONFLICT (document) DO UPDATE SET request_count = queue.request_count + 1
