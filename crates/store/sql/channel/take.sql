-- A channel that is neither over nor throttled has taken so many tickets more, with a report of each; throttled it takes what its sink was told of before.
UPDATE channel SET taken = taken + $2, serial = serial + $2, seen_at = $3 WHERE id = $1 AND state IN ('running', 'terminating', $4) RETURNING serial, taken - completed, open_max
