-- The last report of a channel that is as old as reports are kept: its client has it, or it is older.
SELECT serial FROM channel_report WHERE channel = $1 AND ((serial <= $2 AND at < $3) OR at < $4) ORDER BY serial DESC LIMIT 1
