-- Forgets what these documents waited for: once, until their next visit, or as references said.
DELETE FROM prerequisite WHERE document IN any_of($1) AND once = $2
