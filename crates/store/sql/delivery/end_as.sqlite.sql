-- How deliveries ended: the output answered with no, or what another owner sent serves for them.
-- Differs from PostgreSQL: one row per call beats a list here.
UPDATE delivery SET outcome = $5 WHERE document = $1 AND component = $2 AND output = $3 AND seq = $4
