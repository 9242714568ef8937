-- Schema steps that were applied.
SELECT number, checksum FROM migration ORDER BY number
