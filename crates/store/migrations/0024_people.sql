-- people and groups that somebody pushes into an authority of the kind scim (decision 0048). name: as it was sent; name_key: the form that names
-- are compared in, for no two people of an authority have one name; body: what else was sent, JSON; revision: tells what it was from what it is
CREATE TABLE person (authority BIGINT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL, external_id TEXT,
  active BIGINT NOT NULL, body TEXT NOT NULL, revision BIGINT NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
  PRIMARY KEY (authority, id)) /*clustered*/;
CREATE UNIQUE INDEX person_name ON person (authority, name_key);
CREATE INDEX person_external ON person (authority, external_id, id);
CREATE TABLE person_group (authority BIGINT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, name_key TEXT NOT NULL, external_id TEXT,
  body TEXT NOT NULL, revision BIGINT NOT NULL, created_at BIGINT NOT NULL, changed_at BIGINT NOT NULL,
  PRIMARY KEY (authority, id)) /*clustered*/;
CREATE INDEX person_group_name ON person_group (authority, name_key, id);
CREATE INDEX person_group_external ON person_group (authority, external_id, id);
-- who is in which group: a person, or another group (is_group 1)
CREATE TABLE membership (authority BIGINT NOT NULL, group_id TEXT NOT NULL, member TEXT NOT NULL, is_group BIGINT NOT NULL,
  PRIMARY KEY (authority, group_id, member)) /*clustered*/;
CREATE INDEX membership_member ON membership (authority, member);
