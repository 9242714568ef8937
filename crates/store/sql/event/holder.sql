-- The job that holds an event.
SELECT job FROM event WHERE name = $1
