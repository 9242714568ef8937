-- Records of a job that are to be there, each with the ticket of what was pushed last, after one, by id.
SELECT document, ticket FROM record WHERE job = $1 AND document > $2 AND present = 1 ORDER BY document LIMIT $3
