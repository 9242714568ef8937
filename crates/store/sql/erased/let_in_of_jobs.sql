-- What was said of an address for single jobs is taken back.
DELETE FROM erased_address WHERE address = $1 AND job <> ''
