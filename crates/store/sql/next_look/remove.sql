-- These documents have no date any more.
DELETE FROM next_look WHERE document IN any_of($1)
