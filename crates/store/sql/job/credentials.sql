-- no move: with which credentials it was read
-- Remembers the fingerprint of the credentials that the source was listed with; the column has the name of before.
UPDATE job SET reader = $2 WHERE handle = $1
