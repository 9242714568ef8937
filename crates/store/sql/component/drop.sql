-- Names of components that no output holds any more.
DELETE FROM component WHERE document IN any_of($1)
 AND NOT EXISTS (SELECT 1 FROM delivery v WHERE v.document = component.document AND v.component = component.component)
