-- What versions of a record are told by from now on.
UPDATE record SET hash = $2, pending_hash = NULL WHERE document = $1 AND present = 1
