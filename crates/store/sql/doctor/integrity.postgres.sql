-- Whether the pages of the file fit together.
-- Differs from SQLite: a server looks after its own files.
SELECT 'ok'
