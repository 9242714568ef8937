-- What every output was sent of one document or component, and what it holds; the names of a handful of outputs.
SELECT v.output, c.name, v.address_parent, v.address, v.intended, v.intended_acl, v.confirmed, v.confirmed_acl, v.intent_at, v.confirmed_at, v.outcome
FROM delivery v JOIN connection c ON c.handle = v.output WHERE v.document = $1 AND v.component = $2
