-- Forgets all counters, which are counted anew.
DELETE FROM tally
