-- Documents of a job that wait to be sent again because an output lost them, at most so many.
SELECT document FROM queue WHERE job = $1 AND reason = 'resend' LIMIT $2
