-- Numbers up to this one may be sent to an output, by this opening.
UPDATE connection SET ceiling = CASE WHEN ceiling < $2 THEN $2 ELSE ceiling END, next_session = $3 WHERE handle = $1
