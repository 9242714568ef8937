-- An entry is to be this owner's: until its access is sent in its name, it is what another owner sent.
UPDATE delivery SET confirmed_acl = -1, outcome = 'overwritten' FROM {rows:bigint,bigint,bigint} WHERE document = c1 AND component = c2 AND output = c3
