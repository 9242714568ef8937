-- The time of the row of a job behind so many later ones.
SELECT at FROM history WHERE job = $1 ORDER BY at DESC, document DESC, outcome DESC LIMIT 1 OFFSET $2
