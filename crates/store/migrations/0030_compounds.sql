-- is_compound: others may be in it; pending_hash: what its versions are told by once the delta run that it was pushed in is finished
ALTER TABLE record ADD COLUMN is_compound BIGINT NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN pending_hash TEXT;
-- compound: the key of the compound that a delta run goes over; NULL: over the whole source
ALTER TABLE delta_run ADD COLUMN compound TEXT;
-- kind: 0 records that were met; 1 compounds that stand for all that is in them; 2 compounds that were met anew; 3 hashes of keys that could not be read
ALTER TABLE delta_mark ADD COLUMN kind BIGINT NOT NULL DEFAULT 0;
-- in which compounds of its job a record is, by their keys, whether these were pushed or not; epoch: of the delta run that said so last, 0 where that was said in none
CREATE TABLE record_parent (document BIGINT NOT NULL, job BIGINT NOT NULL, parent_hash BIGINT NOT NULL, key_hash BIGINT NOT NULL, epoch BIGINT NOT NULL,
  PRIMARY KEY (document, parent_hash, key_hash)) /*clustered*/;
CREATE INDEX record_parent_of ON record_parent (job, key_hash, parent_hash, document);
