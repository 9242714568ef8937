-- The time of the notice behind so many later ones.
SELECT at FROM notice ORDER BY at DESC, id DESC LIMIT 1 OFFSET $1
