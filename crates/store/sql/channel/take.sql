-- A channel that is not over has taken so many tickets more, with a report of each.
UPDATE channel SET taken = taken + $2, serial = serial + $2, seen_at = $3 WHERE id = $1 AND state <> 'terminated' RETURNING serial, taken - completed, open_max
