-- Other tokens judge what a repository connection rules.
UPDATE connection SET authority_group = $2 WHERE handle = $1
