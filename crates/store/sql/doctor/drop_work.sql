-- no move: of a document that is not there
-- Drops work of documents that are not there.
DELETE FROM work WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = work.document)
