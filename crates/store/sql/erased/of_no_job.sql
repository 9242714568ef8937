-- Addresses that stay erased although no job that is there has erased them, behind a place.
SELECT job, address, uri, at, erased_by, admitted FROM erased_address WHERE (job, address) > ($1, $2) AND admitted = 0
AND NOT EXISTS (SELECT 1 FROM erased WHERE erased.address = erased_address.address) ORDER BY job, address LIMIT $3
