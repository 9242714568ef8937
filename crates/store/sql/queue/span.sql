-- How often visits are wanted, and why, of documents whose ids are close together.
SELECT document, request_count, reason FROM queue WHERE document BETWEEN $1 AND $2
