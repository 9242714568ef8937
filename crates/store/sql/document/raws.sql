-- Digests of the bytes that what outputs hold was made of, by document.
SELECT id, raw FROM document WHERE id IN any_of($1)
