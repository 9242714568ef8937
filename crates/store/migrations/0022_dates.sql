-- of continuous jobs: when documents are looked at again or expire, and what was seen of them. action: recrawl, expire; since: the first of
-- their visits; changes: since then, each once; origin: when it was written; origin, expires: 9223372036854775807 is not known, and never
CREATE TABLE next_look (document BIGINT PRIMARY KEY, job BIGINT NOT NULL, due BIGINT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('recrawl','expire')), since BIGINT NOT NULL, changes BIGINT NOT NULL,
  origin BIGINT NOT NULL, expires BIGINT NOT NULL) /*clustered*/;
CREATE INDEX next_look_due ON next_look (job, due, document);
-- digest of all that a pass goes by which looked at everything
ALTER TABLE job ADD looked BIGINT;
-- the last attempt is made by then; 0: their number alone counts
ALTER TABLE failure ADD give_up_at BIGINT NOT NULL DEFAULT 0;
