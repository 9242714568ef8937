-- Every process on record.
SELECT id, slot, until, pid, host, doing FROM process ORDER BY slot
