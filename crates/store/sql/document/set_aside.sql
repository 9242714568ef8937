-- move: document Decline
-- Documents that are none of the job as they were found: nobody waits for a first visit of them.
UPDATE document SET settings = $2 WHERE id IN any_of($1) AND settings = 0
