-- no move: its definition only
-- Changes the definition of a job, as it was seen; and, where its schedule is another one, when it got that.
UPDATE job SET definition = $2, revision = revision + 1, scheduled_at = coalesce($3, scheduled_at) WHERE handle = $1 AND revision = $4
