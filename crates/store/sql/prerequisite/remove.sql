-- These documents wait for no event.
DELETE FROM prerequisite WHERE document IN any_of($1)
