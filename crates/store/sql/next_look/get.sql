-- What was seen of documents.
SELECT document, since, changes, expires FROM next_look WHERE document IN any_of($1)
