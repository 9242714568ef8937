-- Whose tokens judge what repository connections rule.
SELECT handle, authority_group FROM connection WHERE role = 'repository'
