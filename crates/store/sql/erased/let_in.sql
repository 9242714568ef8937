-- The job of this name, or every job without one of its own, takes an address in again.
DELETE FROM erased_address WHERE job = $1 AND address = $2
