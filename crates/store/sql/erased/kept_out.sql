-- Addresses that no run of a job takes in, and those that it takes in all the same.
SELECT job, address, uri, at, erased_by, admitted FROM erased_address WHERE job IN ('', $1)
