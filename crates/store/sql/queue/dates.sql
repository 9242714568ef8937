-- When visits of these documents are due.
SELECT document, due FROM queue WHERE document IN any_of($1)
