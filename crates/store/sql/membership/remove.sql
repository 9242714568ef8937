-- Members that a group has no more.
DELETE FROM membership WHERE authority = $1 AND group_id = $2 AND member IN any_of($3)
