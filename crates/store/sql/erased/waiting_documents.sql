-- Documents of a job that are to be erased, and are known still.
SELECT document.id FROM erased JOIN document ON document.job = erased.job AND document.parent_hash = erased.parent_hash
AND document.key_hash = erased.key_hash WHERE erased.job = $1 AND erased.done_at IS NULL
