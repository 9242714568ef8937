-- How many things in a document have deliveries of their own.
SELECT count(*) FROM component WHERE document = $1
