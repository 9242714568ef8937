-- A channel that sends reports, or may have to.
SELECT id FROM channel WHERE sink <> '' AND sink_lost = 0 AND (state <> 'terminated' OR delivered < serial) LIMIT 1
