-- What became of tickets, once each.
UPDATE ticket SET report = c2, completed_at = c3, outcome = c4, code = c5, message = c6
FROM {rows:bigint,bigint,bigint,text,text,text} WHERE number = c1 AND report IS NULL
