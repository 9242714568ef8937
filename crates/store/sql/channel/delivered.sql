-- A sink has the reports of a channel up to one; behind the last one it is asked no more.
UPDATE channel SET delivered = CASE WHEN delivered > $2 THEN delivered ELSE $2 END,
 sink_secret = CASE WHEN state = 'terminated' AND serial <= $2 THEN '' ELSE sink_secret END WHERE id = $1
