-- What a run that follows links goes by; none: no other run goes on with it.
UPDATE run SET basis = $3 WHERE job = $1 AND number = $2
