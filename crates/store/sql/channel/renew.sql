-- All channels have their leases from now on.
UPDATE channel SET seen_at = $1 WHERE state IN ('running', 'throttling')
