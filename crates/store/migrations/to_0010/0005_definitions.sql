-- what an output that judges access by what it was told has been told: an acl (id: its class), a container (id: a place, for the
-- documents of one job), all entries of a job by such references (kind entries), or what else has to admit to the entry at an address
-- (kind also). sent: digest of what was said last, on disk before
-- it is said; held: of what was confirmed last
CREATE TABLE definition (output BIGINT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('acl','container','entries','also')),
  id BIGINT NOT NULL, job BIGINT NOT NULL, seq BIGINT NOT NULL, sent BIGINT NOT NULL, held BIGINT,
  PRIMARY KEY (output, kind, id, job)) /*clustered*/;
