-- What is wrong with documents whose ids are close together.
SELECT document, kind, attempts, code, first_at, give_up_at FROM failure WHERE document BETWEEN $1 AND $2
