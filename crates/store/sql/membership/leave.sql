-- Somebody is a member of nothing.
DELETE FROM membership WHERE authority = $1 AND member = $2
