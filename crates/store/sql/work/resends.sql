-- Documents of a job that wait to be sent again because an output lost them, at most so many.
SELECT document FROM work WHERE job = $1 AND cause = 'resend' LIMIT $2
