-- Completes the events of a process that ends.
DELETE FROM event WHERE process = $1
