-- raw: digest of the bytes that what outputs hold was made of; 0: not known. A change time that moved is compared with it (design 4.18)
ALTER TABLE document ADD COLUMN raw BIGINT NOT NULL DEFAULT 0;
