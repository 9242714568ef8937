-- move: job Drain
-- Nothing is due or held and the listing ended: the sweep begins.
UPDATE job SET state = 'sweeping' WHERE handle = $1 AND run = $2 AND state = 'working'
