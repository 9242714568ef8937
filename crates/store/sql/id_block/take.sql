-- Takes the next numbers of a name; answers the end of the block.
INSERT INTO id_block (name, next) VALUES ($1, $2 + 1) ON CONFLICT (name) DO UPDATE SET next = id_block.next + $2 RETURNING next
