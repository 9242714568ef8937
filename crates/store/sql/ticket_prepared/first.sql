-- The first ticket that the sink of a channel is being told of.
SELECT MIN(number) FROM ticket_prepared WHERE channel = $1
