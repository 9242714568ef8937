-- The output was told; what is newer is left alone.
UPDATE definition SET confirmed = intended FROM {rows:bigint,text,bigint,bigint,bigint} WHERE output = c1 AND kind = c2 AND id = c3 AND job = c4 AND seq = c5
