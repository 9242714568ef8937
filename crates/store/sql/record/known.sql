-- Records of a job that are to be there, each with the ticket of what was pushed last and whether others may be in it, after one, by id.
SELECT document, ticket, is_compound FROM record WHERE job = $1 AND document > $2 AND present = 1 ORDER BY document LIMIT $3
