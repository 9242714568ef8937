-- Where all jobs are, without their definitions.
SELECT handle, state, run, revision, paused, scheduled_at, restart, rereads FROM job ORDER BY name
