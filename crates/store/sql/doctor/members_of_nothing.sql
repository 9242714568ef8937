-- Members of groups that are not there, and members who are not there, of authorities that are.
SELECT m.authority, count(*) FROM membership m JOIN connection c ON c.handle = m.authority AND c.role = 'authority'
 LEFT JOIN person_group g ON g.authority = m.authority AND g.id = m.group_id
 LEFT JOIN person p ON p.authority = m.authority AND p.id = m.member AND m.is_group = 0
 LEFT JOIN person_group i ON i.authority = m.authority AND i.id = m.member AND m.is_group = 1
WHERE g.id IS NULL OR (p.id IS NULL AND i.id IS NULL) GROUP BY m.authority LIMIT $1
