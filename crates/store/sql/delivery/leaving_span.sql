-- Documents of which a removal was sent and not confirmed, of those whose ids are close together.
SELECT DISTINCT document FROM delivery WHERE intended = 0 AND document BETWEEN $1 AND $2
