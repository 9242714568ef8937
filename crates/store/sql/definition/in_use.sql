-- References of all that an output holds or may hold, also of what is leaving it.
SELECT DISTINCT d.class, d.place, d.job FROM delivery v JOIN document d ON d.id = v.document WHERE v.output = $1
