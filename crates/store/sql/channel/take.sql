-- A channel that is neither over nor throttled has taken so many tickets more, with a report of each.
UPDATE channel SET taken = taken + $2, serial = serial + $2, seen_at = $3 WHERE id = $1 AND state IN ('running', 'terminating') RETURNING serial, taken - completed, open_max
