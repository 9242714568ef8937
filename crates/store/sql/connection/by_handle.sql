-- One connection.
SELECT kind, name, settings, identity, generation FROM connection WHERE handle = $1
