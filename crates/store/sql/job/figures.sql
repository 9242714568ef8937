-- What is watched of each job: the counter of its documents, its last run, and when a run of it has ended well last.
SELECT job.name, job.state, job.paused,
  (SELECT n FROM tally WHERE tally.job = job.handle AND tally.name = 'documents'),
  (SELECT outcome FROM run WHERE run.job = job.handle AND run.number = job.run),
  (SELECT counts FROM run WHERE run.job = job.handle AND run.number = job.run),
  (SELECT ended_at FROM run WHERE run.job = job.handle AND run.outcome = 'done' ORDER BY run.number DESC LIMIT 1)
FROM job ORDER BY job.name
