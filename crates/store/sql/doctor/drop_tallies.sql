-- Forgets the counters of documents, which are counted anew.
DELETE FROM tally WHERE name = 'documents'
