-- move: document MeetAgain, Claim, Retry
-- A reason to visit; one that is there already is wanted once more.
INSERT INTO work (document, job, due, run, cause, wanted)
SELECT c1, c2, c3, c4, c5, 1 FROM {rows:bigint,bigint,bigint,bigint,text} WHERE true
ON CONFLICT (document) DO UPDATE SET wanted = work.wanted + 1, run = excluded.run,
 cause = CASE WHEN work.cause = 'access' THEN work.cause ELSE excluded.cause END,
 due = CASE WHEN excluded.due < work.due THEN excluded.due ELSE work.due END
