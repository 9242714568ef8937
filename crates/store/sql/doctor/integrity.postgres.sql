-- Whether the pages of the file fit together, and each index its table.
-- Differs from SQLite: a server looks after its own files.
SELECT 'ok'
