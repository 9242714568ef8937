-- The same, in place of what it kept before; and a digest of what was handed down to the document.
UPDATE document_text SET memo = $2, handed = $3 WHERE id = $1
