-- Tickets of documents that are open.
SELECT number, document, requests, channel FROM ticket WHERE document IN any_of($1) AND report IS NULL
