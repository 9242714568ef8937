-- Changes that are not kept any longer.
DELETE FROM audit WHERE number <= $1
