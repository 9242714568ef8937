-- References of all that an output holds or may hold, also of what is leaving it.
SELECT DISTINCT d.acl, d.container, d.job FROM delivery v JOIN document d ON d.id = v.document WHERE v.output = $1
