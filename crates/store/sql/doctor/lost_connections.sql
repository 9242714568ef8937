-- Jobs without their repository, and deliveries to outputs that are not there.
SELECT j.handle, j.repository FROM job j LEFT JOIN connection c ON c.handle = j.repository WHERE c.handle IS NULL
UNION ALL SELECT o.output, CAST(NULL AS BIGINT) FROM (SELECT DISTINCT output FROM delivery) o LEFT JOIN connection c ON c.handle = o.output
WHERE c.handle IS NULL LIMIT $1
