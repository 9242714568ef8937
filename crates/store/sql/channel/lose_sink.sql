-- A sink has taken nothing for too long: it is asked no more.
UPDATE channel SET sink_lost = 1, sink_secret = '' WHERE id = $1 AND sink_lost = 0
