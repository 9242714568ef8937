-- move: document MeetAgain
-- A reason to visit all documents of a job of which an output was sent something that it did not confirm.
INSERT INTO queue (document, job, due, run, reason, request_count)
SELECT DISTINCT v.document, d.job, 0, 0, 'settings', 1 FROM delivery v JOIN document d ON d.id = v.document
WHERE d.job = $1 AND v.intended <> 0 AND (v.confirmed IS DISTINCT FROM v.intended OR v.confirmed_acl IS DISTINCT FROM v.intended_acl)
ON CONFLICT (document) DO UPDATE SET request_count = queue.request_count + 1
