-- A group has no members.
DELETE FROM membership WHERE authority = $1 AND group_id = $2
