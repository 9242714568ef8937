-- Where an output stands after a commit that the store has confirmed.
UPDATE connection SET identity = $2, generation = $3, session = $4 WHERE handle = $1
