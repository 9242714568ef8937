-- move: document Forget
-- Documents that no output holds any more.
DELETE FROM document WHERE id IN any_of($1)
