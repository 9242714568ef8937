-- A person erases what is at an address, or lets one job alone take it in. What was so stays so since the first time.
INSERT INTO erased_address (job, address, uri, at, erased_by, admitted) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (job, address) DO UPDATE SET uri = excluded.uri, admitted = excluded.admitted,
at = CASE WHEN erased_address.admitted = excluded.admitted THEN erased_address.at ELSE excluded.at END,
erased_by = CASE WHEN erased_address.admitted = excluded.admitted THEN erased_address.erased_by ELSE excluded.erased_by END
