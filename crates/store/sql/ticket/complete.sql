-- What became of a ticket, once.
UPDATE ticket SET report = $2, completed_at = $3, outcome = $4, code = $5, message = $6 WHERE number = $1 AND report IS NULL
