-- Marks of runs that are not there.
SELECT DISTINCT s.job, s.run FROM listed_ids s LEFT JOIN run r ON r.job = s.job AND r.number = s.run WHERE r.job IS NULL LIMIT $1
