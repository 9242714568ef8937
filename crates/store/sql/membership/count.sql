-- How many members a group has.
SELECT count(*) FROM membership WHERE authority = $1 AND group_id = $2
