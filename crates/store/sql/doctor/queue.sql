-- move: document MeetAgain
-- Asks for visits of documents that were forgotten.
INSERT INTO work (document, job, due, run, cause, wanted) SELECT d.id, d.job, 0, 0, 'resend', 1 FROM document d WHERE d.id IN any_of($1)
ON CONFLICT (document) DO UPDATE SET wanted = work.wanted + 1
