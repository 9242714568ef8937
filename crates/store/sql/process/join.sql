-- Registers this process.
INSERT INTO process (id, slot, until, pid, host, doing) VALUES ($1, $2, $3, $4, $5, $6)
