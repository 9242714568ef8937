-- Jobs whose counter of documents is not their number.
SELECT j.handle, c.n FROM job j LEFT JOIN (SELECT job, count(*) AS n FROM document GROUP BY job) c ON c.job = j.handle
 LEFT JOIN tally t ON t.job = j.handle AND t.name = 'documents' WHERE coalesce(c.n, 0) <> coalesce(t.n, 0) LIMIT $1
