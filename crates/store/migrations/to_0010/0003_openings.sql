-- class: as the folder was before it was listed last, by whatever job. It rules on for the documents of each job until a run of that
-- job has looked at all of them below the folder (design 4.20); job 0: for entries of jobs that are gone
CREATE TABLE place_narrow (place BIGINT NOT NULL, job BIGINT NOT NULL, class BIGINT NOT NULL,
  PRIMARY KEY (place, job, class)) /*clustered*/;
CREATE INDEX place_narrow_job ON place_narrow (job);
-- what was to open by then opens for no job that has not looked; also: a list of classes, such as [3,14]
INSERT INTO place_narrow (place, job, class) SELECT p.id, j.handle, p.level FROM place p, (SELECT handle FROM job UNION ALL SELECT 0) j
WHERE p.wider IS NOT NULL;
UPDATE place SET level = wider WHERE wider IS NOT NULL;
INSERT INTO place_narrow (place, job, class) SELECT p.id, j.handle, c.id FROM place p, (SELECT handle FROM job UNION ALL SELECT 0) j,
 access_class c WHERE replace(replace(p.also, '[', ','), ']', ',') LIKE '%,' || CAST(c.id AS TEXT) || ',%' ON CONFLICT DO NOTHING;
ALTER TABLE place DROP COLUMN wider;
ALTER TABLE place DROP COLUMN also;
