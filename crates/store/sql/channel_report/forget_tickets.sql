-- Tickets whose last reports are forgotten.
DELETE FROM ticket WHERE number IN (SELECT ticket FROM channel_report WHERE channel = $1 AND serial <= $2 AND kind = 'completed')
