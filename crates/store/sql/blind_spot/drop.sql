-- Forgets the blind spots of earlier runs.
DELETE FROM blind_spot WHERE job = $1 AND run < $2
