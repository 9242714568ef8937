-- A delta run in which compounds were pushed is finished: what is in them was listed, and their hashes count.
UPDATE record SET hash = pending_hash, pending_hash = NULL WHERE document IN any_of($1) AND pending_hash IS NOT NULL
