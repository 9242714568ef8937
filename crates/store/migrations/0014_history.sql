-- begun_by: who or what began the run, in words; NULL: it began before that was noted
ALTER TABLE run ADD COLUMN begun_by TEXT;
CREATE INDEX run_started ON run (started_at, job, number);
-- what became of single documents: those that failed or were left out, and all that a run visited where the job asks for it.
-- outcome: a word of the model; code, message: why, empty where all went well; bytes: read of it
CREATE TABLE history (job BIGINT NOT NULL, at BIGINT NOT NULL, document BIGINT NOT NULL, outcome TEXT NOT NULL, run BIGINT NOT NULL,
  code TEXT NOT NULL, name TEXT NOT NULL, message TEXT NOT NULL, bytes BIGINT NOT NULL,
  PRIMARY KEY (job, at, document, outcome)) /*clustered*/;
CREATE INDEX history_at ON history (at, job, document, outcome);
-- from when on the history of a job is whole: of its runs, of failures, of all documents; no row of these: they are not noted
CREATE TABLE history_from (job BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('runs','failures','documents')), at BIGINT NOT NULL,
  PRIMARY KEY (job, kind)) /*clustered*/;
INSERT INTO history_from (job, kind, at) SELECT handle, 'runs', coalesce((SELECT min(started_at) FROM run WHERE run.job = job.handle
  HAVING min(number) > 1), created_at) FROM job;
INSERT INTO history_from (job, kind, at) SELECT handle, 'failures', coalesce((SELECT max(coalesce(ended_at, started_at)) + 1 FROM run
  WHERE run.job = job.handle), created_at) FROM job;
-- what notifiers are to be told of ends of runs, one row for each of them. id: a digest of what it is about, so that the same is told once;
-- body: what is told, as JSON; state waiting: not before due
CREATE TABLE notice (id TEXT PRIMARY KEY, at BIGINT NOT NULL, job BIGINT NOT NULL, run BIGINT NOT NULL, event TEXT NOT NULL,
  notifier TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('waiting','sent','failed')), attempts BIGINT NOT NULL,
  due BIGINT NOT NULL, error TEXT) /*clustered*/;
CREATE INDEX notice_at ON notice (at, id);
CREATE INDEX notice_due ON notice (due, id) WHERE state = 'waiting';
CREATE INDEX notice_untold ON notice (job, at) WHERE state <> 'sent';
