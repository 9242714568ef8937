-- Work of documents that are not there, or not in that job.
SELECT w.document, w.job FROM queue w LEFT JOIN document d ON d.id = w.document AND d.job = w.job WHERE d.id IS NULL LIMIT $1
