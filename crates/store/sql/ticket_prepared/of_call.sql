-- What a sink is being told of by one call.
SELECT number, job, key_text, op, prepared_at, pushed_by, user_ref FROM ticket_prepared WHERE call = $1 ORDER BY number
