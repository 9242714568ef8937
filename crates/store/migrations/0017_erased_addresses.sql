-- documents that a person has erased, by their addresses: whatever becomes of the jobs that had them, no run of the job of this name takes them
-- in, or of any job where the name is empty. address: hash of the URI; admitted 1: this job alone takes it in all the same
CREATE TABLE erased_address (job TEXT NOT NULL, address BIGINT NOT NULL, uri TEXT NOT NULL, at BIGINT NOT NULL, erased_by TEXT NOT NULL,
  admitted BIGINT NOT NULL, PRIMARY KEY (job, address)) /*clustered*/;
CREATE INDEX erased_address_everywhere ON erased_address (address);
-- the address of what a job has erased; 0: it was erased before addresses were kept
ALTER TABLE erased ADD COLUMN address BIGINT NOT NULL DEFAULT 0;
CREATE INDEX erased_of_address ON erased (address);
