-- All that one output was told of who may see.
SELECT kind, id, job, sent, held FROM definition WHERE output = $1
