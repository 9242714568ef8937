-- The listing is over.
UPDATE run SET listed_at = $3 WHERE job = $1 AND number = $2
