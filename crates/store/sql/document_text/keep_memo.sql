-- The same, in place of what it kept before.
UPDATE document_text SET memo = $2 WHERE id = $1
