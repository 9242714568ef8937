-- A sink is not being told of the tickets of a call any more.
DELETE FROM ticket_prepared WHERE call = $1
