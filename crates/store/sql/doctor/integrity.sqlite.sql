-- Whether the pages of the file fit together.
-- Differs from PostgreSQL: a server looks after its own files.
PRAGMA quick_check(1)
