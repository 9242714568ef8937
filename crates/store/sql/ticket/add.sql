-- What was asked of a record.
INSERT INTO ticket (number, job, document, key_text, op, requests, accepted_at, pushed_by, channel, user_ref, code, message)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', '')
