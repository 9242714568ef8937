-- What rules at a place now, and what it opens to.
UPDATE place SET level = $2, wider = $3, also = $4 WHERE id = $1
