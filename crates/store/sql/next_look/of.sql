-- When a document is looked at next, where its job goes by dates.
SELECT due FROM next_look WHERE document = $1
