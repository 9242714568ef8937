-- All memberships of an authority go.
DELETE FROM membership WHERE authority = $1
