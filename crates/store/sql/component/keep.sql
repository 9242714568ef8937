-- Which components of a document stay as they were before it was read.
UPDATE component SET kept = CASE WHEN component IN any_of($2) THEN 1 ELSE 0 END WHERE document = $1
