-- Whether the removal of any document was sent and not confirmed.
SELECT document FROM delivery WHERE intended = 0 LIMIT 1
