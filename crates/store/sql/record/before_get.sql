-- A record as outputs have it.
SELECT ticket, hash, acl, about, content FROM record_before WHERE document = $1
