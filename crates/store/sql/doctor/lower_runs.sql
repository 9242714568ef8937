-- no move: which run wrote it, only
-- A document cannot be written by a run that was never opened.
UPDATE document SET changed_run = (SELECT j.run FROM job j WHERE j.handle = document.job)
WHERE changed_run > (SELECT j.run FROM job j WHERE j.handle = document.job)
