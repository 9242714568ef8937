-- Groups that any of these people and groups is a member of, each once.
SELECT g.id, g.name, g.external_id FROM person_group g
WHERE g.authority = $1 AND g.id IN (SELECT m.group_id FROM membership m WHERE m.authority = $1 AND m.member IN any_of($2)) LIMIT $3
