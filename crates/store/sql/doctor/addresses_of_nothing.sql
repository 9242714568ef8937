-- Addresses of documents that are not there.
SELECT u.document, u.output FROM delivery_uri u LEFT JOIN document d ON d.id = u.document WHERE d.id IS NULL LIMIT $1
