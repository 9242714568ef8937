-- restart: the kind of the run that a person asked for with the stop of the one before; it begins as soon as that has ended
ALTER TABLE job ADD COLUMN restart TEXT;
-- rereads: how often a person asked that the next run trusts no version; 0: not since a full run has read everything again
ALTER TABLE job ADD COLUMN rereads BIGINT NOT NULL DEFAULT 0;
