-- What is due, in the order of its time.
SELECT w.document, w.due, w.run, w.cause, w.wanted FROM work w
WHERE w.job = $1 AND (w.due, w.document) > ($2, $3) AND w.due <= $4 ORDER BY w.due, w.document LIMIT $5
