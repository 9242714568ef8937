-- When something was noted of a document of that name.
SELECT at FROM history WHERE job = $1 AND name = $2
