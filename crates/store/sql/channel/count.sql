-- How many channels are kept.
SELECT COUNT(*) FROM channel
