-- Drops members of nothing, and members who are not there.
DELETE FROM membership WHERE
 NOT EXISTS (SELECT 1 FROM person_group g WHERE g.authority = membership.authority AND g.id = membership.group_id)
 OR (is_group = 0 AND NOT EXISTS (SELECT 1 FROM person p WHERE p.authority = membership.authority AND p.id = membership.member))
 OR (is_group = 1 AND NOT EXISTS (SELECT 1 FROM person_group i WHERE i.authority = membership.authority AND i.id = membership.member))
