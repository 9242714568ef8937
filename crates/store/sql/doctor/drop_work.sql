-- no move: of a document that is not there
-- Drops work of documents that are not there, or not in that job; what is then forgotten or not confirmed is found as such.
DELETE FROM queue WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = queue.document AND d.job = queue.job)
