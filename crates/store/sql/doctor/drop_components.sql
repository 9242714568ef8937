-- Drops names of components that no output was sent; an output may still hold what has a delivery.
DELETE FROM component WHERE NOT EXISTS
 (SELECT 1 FROM delivery v WHERE v.document = component.document AND v.component = component.component)
