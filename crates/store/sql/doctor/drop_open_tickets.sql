-- Drops open tickets of documents that are not there.
DELETE FROM ticket WHERE report IS NULL AND NOT EXISTS (SELECT 1 FROM document d WHERE d.id = ticket.document)
