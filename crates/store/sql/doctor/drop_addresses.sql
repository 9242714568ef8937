-- Drops addresses of documents that are not there; an output may still hold what has a delivery.
DELETE FROM delivery_uri WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = delivery_uri.document)
 AND NOT EXISTS (SELECT 1 FROM delivery v WHERE v.document = delivery_uri.document AND v.output = delivery_uri.output)
