-- authority_group: whose tokens judge the acls of a repository connection; empty: those of the one group without a name
ALTER TABLE connection ADD COLUMN authority_group TEXT NOT NULL DEFAULT '';
