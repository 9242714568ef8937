-- A document hands nothing down to another one any more.
DELETE FROM handed_down WHERE child = $1 AND parent = $2
