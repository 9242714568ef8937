-- What reports of a channel are signed with, sealed anew.
UPDATE channel SET sink_secret = $2 WHERE id = $1
