-- People, groups and memberships of authorities that are not there.
SELECT DISTINCT p.authority, CAST(NULL AS BIGINT) FROM (SELECT authority FROM person UNION ALL SELECT authority FROM person_group
 UNION ALL SELECT authority FROM membership) p
 LEFT JOIN connection c ON c.handle = p.authority AND c.role = 'authority' WHERE c.handle IS NULL LIMIT $1
