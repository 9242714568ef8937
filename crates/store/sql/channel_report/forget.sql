-- Forgets reports of a channel up to one.
DELETE FROM channel_report WHERE channel = $1 AND serial <= $2
