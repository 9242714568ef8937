-- By what everything of a job was looked at last.
SELECT looked FROM job WHERE handle = $1
