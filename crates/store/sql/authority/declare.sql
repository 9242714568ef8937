-- Another authority of the same kind: its changes have different times, so that answers of before are told from those of now.
UPDATE connection SET settings = $2, authority_group = $3, asking = $4, changed_at = CASE WHEN changed_at < $5 THEN $5 ELSE changed_at + 1 END
WHERE handle = $1
