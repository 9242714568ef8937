-- Calls whose tickets a sink is being told of.
SELECT DISTINCT call, channel FROM ticket_prepared ORDER BY call LIMIT $1
