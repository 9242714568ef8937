-- What waits for another attempt is tried now.
UPDATE notice SET due = $1 WHERE state = 'waiting' AND due > $1
