-- When documents are looked at again or expire, in place of what was noted before.
INSERT INTO next_look (document, job, due, action, since, changes, origin, expires)
SELECT c1, c2, c3, c4, c5, c6, c7, c8 FROM {rows:bigint,bigint,bigint,text,bigint,bigint,bigint,bigint} WHERE true
ON CONFLICT (document) DO UPDATE SET due = excluded.due, action = excluded.action, since = excluded.since, changes = excluded.changes,
 origin = excluded.origin, expires = excluded.expires
