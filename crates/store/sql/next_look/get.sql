-- What was seen of documents.
SELECT document, since, changes, origin, expires FROM next_look WHERE document IN any_of($1)
