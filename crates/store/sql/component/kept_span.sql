-- The same of documents whose ids are close together.
SELECT DISTINCT document FROM component WHERE kept = 1 AND document BETWEEN $1 AND $2
