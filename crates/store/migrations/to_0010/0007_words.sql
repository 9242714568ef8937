-- Tables and columns say what the field says (docs/glossary.md); no row changes, but for the names of two counters.
-- acl: who may read, as a list that is kept once; container: a folder or share that rules what is below it
ALTER TABLE access_class RENAME TO acl;
ALTER TABLE acl RENAME COLUMN level TO list;
ALTER TABLE place RENAME TO container;
ALTER TABLE container RENAME COLUMN level TO acl;
ALTER TABLE place_narrow RENAME TO container_pending;
ALTER TABLE container_pending RENAME COLUMN place TO container;
ALTER TABLE container_pending RENAME COLUMN class TO acl;
ALTER TABLE document RENAME COLUMN parent TO parent_hash;
ALTER TABLE document RENAME COLUMN own TO key_hash;
ALTER TABLE document RENAME COLUMN class TO acl;
ALTER TABLE document RENAME COLUMN place TO container;
-- intended: digest of what was sent last, on disk before it is sent, 0 for a removal; confirmed: of what the output holds
ALTER TABLE delivery RENAME COLUMN sent TO intended;
ALTER TABLE delivery RENAME COLUMN sent_access TO intended_acl;
ALTER TABLE delivery RENAME COLUMN held TO confirmed;
ALTER TABLE delivery RENAME COLUMN held_access TO confirmed_acl;
ALTER TABLE definition RENAME COLUMN sent TO intended;
ALTER TABLE definition RENAME COLUMN held TO confirmed;
ALTER TABLE trouble RENAME TO failure;
ALTER TABLE seen RENAME TO listed_ids;
ALTER TABLE work RENAME TO queue;
ALTER TABLE queue RENAME COLUMN cause TO reason;
ALTER TABLE queue RENAME COLUMN wanted TO request_count;
UPDATE id_block SET name = 'container' WHERE name = 'place';
UPDATE id_block SET name = 'acl' WHERE name = 'class';
-- SQLite gives an index no other name; these are of small tables, or of one that is empty at rest
DROP INDEX access_class_digest;
CREATE UNIQUE INDEX acl_digest ON acl (connection, digest);
DROP INDEX place_connection;
CREATE INDEX container_connection ON container (connection, id);
DROP INDEX place_narrow_job;
CREATE INDEX container_pending_job ON container_pending (job);
DROP INDEX trouble_job;
CREATE INDEX failure_job ON failure (job, kind, document);
DROP INDEX work_job;
CREATE INDEX queue_job ON queue (job, document);
DROP INDEX work_access;
CREATE INDEX queue_access ON queue (document) WHERE reason = 'access';
