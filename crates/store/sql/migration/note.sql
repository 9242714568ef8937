-- Notes a schema step as applied.
INSERT INTO migration (number, name, checksum) VALUES ($1, $2, $3)
