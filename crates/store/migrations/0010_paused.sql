-- paused: 1: a person paused it; its runs visit nothing, and none begins
ALTER TABLE job ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;
