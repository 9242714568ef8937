-- Documents of a job whose dates have come by $4, in their order, behind one of them.
SELECT due, document, action FROM next_look WHERE job = $1 AND (due, document) > ($2, $3) AND due <= $4 ORDER BY due, document LIMIT $5
