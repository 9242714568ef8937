-- move: document Forget
-- Drops documents of jobs that are not there and that no output holds.
DELETE FROM document WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.handle = document.job)
 AND NOT EXISTS (SELECT 1 FROM delivery v WHERE v.document = document.id)
