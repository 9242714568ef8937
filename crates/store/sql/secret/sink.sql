-- What reports of a channel are signed with.
SELECT sink_secret FROM channel WHERE id = $1
