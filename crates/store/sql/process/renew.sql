-- Extends the lease of this process; no row: it was taken over.
UPDATE process SET until = $2 WHERE id = $1
