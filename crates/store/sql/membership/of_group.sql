-- Members of a group.
SELECT member, is_group FROM membership WHERE authority = $1 AND group_id = $2 ORDER BY member LIMIT $3
