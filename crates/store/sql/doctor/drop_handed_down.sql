-- Drops what is handed down by documents that are not there, or to such.
DELETE FROM handed_down WHERE NOT EXISTS (SELECT 1 FROM document d WHERE d.id = handed_down.child)
 OR NOT EXISTS (SELECT 1 FROM document d WHERE d.id = handed_down.parent)
