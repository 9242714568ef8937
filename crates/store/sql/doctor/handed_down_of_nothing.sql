-- What is handed down by documents that are not there, or to such.
SELECT h.child, h.job FROM handed_down h LEFT JOIN document c ON c.id = h.child LEFT JOIN document p ON p.id = h.parent
WHERE c.id IS NULL OR p.id IS NULL LIMIT $1
