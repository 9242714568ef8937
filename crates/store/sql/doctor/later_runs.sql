-- Documents that a run wrote which was never opened.
SELECT d.id, d.changed_run FROM document d JOIN job j ON j.handle = d.job WHERE d.changed_run > j.run LIMIT $1
