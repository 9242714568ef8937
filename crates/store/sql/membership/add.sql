-- Members that a group has from now on.
INSERT INTO membership (authority, group_id, member, is_group) SELECT c1, c2, c3, c4 FROM {rows:bigint,text,text,bigint} WHERE true
ON CONFLICT (authority, group_id, member) DO NOTHING
