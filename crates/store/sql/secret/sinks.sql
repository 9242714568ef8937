-- What reports of channels are signed with.
SELECT id FROM channel WHERE sink_secret <> '' ORDER BY id
