-- One component of a document, by its name.
SELECT component FROM component WHERE document = $1 AND name = $2
