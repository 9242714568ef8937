-- move: document MeetAgain
-- A reason to visit all documents of a job of which an output was sent something that it did not confirm.
INSERT INTO work (document, job, due, run, cause, wanted)
SELECT DISTINCT v.document, d.job, 0, 0, 'settings', 1 FROM delivery v JOIN document d ON d.id = v.document
WHERE d.job = $1 AND v.sent <> 0 AND (v.held IS DISTINCT FROM v.sent OR v.held_access IS DISTINCT FROM v.sent_access)
ON CONFLICT (document) DO UPDATE SET wanted = work.wanted + 1
