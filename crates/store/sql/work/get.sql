-- How often visits are wanted, and why.
SELECT document, wanted, cause FROM work WHERE document IN any_of($1)
