-- Addresses whose new access is known and not confirmed.
SELECT v.address, d.class, d.place FROM work w JOIN delivery v ON v.document = w.document AND v.output = $1 JOIN document d ON d.id = w.document WHERE w.cause = 'access' LIMIT $2
