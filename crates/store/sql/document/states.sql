-- Of these documents those that do not wait, each with its job and what is wrong with it.
SELECT d.job, x.kind FROM document d LEFT JOIN queue w ON w.document = d.id LEFT JOIN failure x ON x.document = d.id
WHERE d.id IN any_of($1) AND d.settings <> 0 AND w.document IS NULL
