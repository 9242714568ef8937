-- How deliveries ended: the output answered with no, or what another owner sent serves for them.
-- Differs from SQLite: one statement per batch, lists as arrays.
UPDATE delivery SET outcome = c5 FROM {rows:bigint,bigint,bigint,bigint,text} WHERE document = c1 AND component = c2 AND output = c3 AND seq = c4
