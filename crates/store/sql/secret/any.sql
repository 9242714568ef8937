-- The owner of a definition or a setting that has this in it, where there is one.
SELECT handle FROM job WHERE definition LIKE $1
UNION ALL
SELECT handle FROM connection WHERE settings LIKE $1
UNION ALL
SELECT id FROM channel WHERE sink_secret LIKE $1
LIMIT 1
