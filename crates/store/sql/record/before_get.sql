-- A record as it was before a channel pushed over it.
SELECT channel, present, ticket, hash, acl, about, content, client_version FROM record_before WHERE document = $1
