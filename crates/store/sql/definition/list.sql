-- All that one output was told of who may see.
SELECT kind, id, job, intended, confirmed FROM definition WHERE output = $1
