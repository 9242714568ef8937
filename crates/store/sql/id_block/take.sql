-- Takes the next numbers of a name; answers the end of the block.
INSERT INTO id_block (name, next) VALUES ($1, CAST($2 AS bigint) + 1) ON CONFLICT (name) DO UPDATE SET next = id_block.next + CAST($2 AS bigint) RETURNING next
