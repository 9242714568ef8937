-- What an older run holds is void: the last one has looked again.
UPDATE run SET guard = 'void', held = NULL WHERE guard = 'held' AND (held IS NULL
 OR number < (SELECT j.run FROM job j WHERE j.handle = run.job))
