-- Open delta runs have their leases from now on.
UPDATE delta_run SET seen_at = $1 WHERE state = 'open' AND seen_at < $1
