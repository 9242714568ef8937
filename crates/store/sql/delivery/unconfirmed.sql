-- Documents of a job of which an output was sent something that it did not confirm.
SELECT DISTINCT v.document FROM delivery v JOIN document d ON d.id = v.document
WHERE d.job = $1 AND v.intended <> 0 AND (v.confirmed IS DISTINCT FROM v.intended OR v.confirmed_acl IS DISTINCT FROM v.intended_acl)
