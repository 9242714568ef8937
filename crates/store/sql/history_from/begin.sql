-- From when on something is noted of a job, where nothing says so yet.
INSERT INTO history_from (job, kind, at) VALUES ($1, $2, $3) ON CONFLICT (job, kind) DO NOTHING
