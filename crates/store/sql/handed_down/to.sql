-- What is handed down to a document, by the first so many that hand it anything.
SELECT data FROM handed_down WHERE child = $1 ORDER BY parent LIMIT $2
