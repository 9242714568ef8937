-- Whether the pages of the file fit together, and each index its table.
-- Differs from PostgreSQL: a server looks after its own files.
PRAGMA integrity_check(1)
