-- Counters below zero.
SELECT job, n FROM tally WHERE n < 0 LIMIT $1
