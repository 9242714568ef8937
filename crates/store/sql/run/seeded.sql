-- All seeds of a run have been named.
UPDATE run SET seeded_at = $3 WHERE job = $1 AND number = $2
