-- Names of components that nobody was ever sent, or of documents that are not there.
SELECT c.document, d.job FROM component c LEFT JOIN document d ON d.id = c.document
 LEFT JOIN delivery v ON v.document = c.document AND v.component = c.component WHERE d.id IS NULL OR v.document IS NULL LIMIT $1
