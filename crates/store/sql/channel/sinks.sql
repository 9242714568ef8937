-- Channels whose sinks do not have all reports.
SELECT id FROM channel WHERE sink <> '' AND sink_lost = 0 AND delivered < serial ORDER BY id
