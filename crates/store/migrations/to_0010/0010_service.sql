-- paused: 1: a person paused it; its runs visit nothing, and none begins
ALTER TABLE job ADD COLUMN paused BIGINT NOT NULL DEFAULT 0;
-- scheduled_at: when it got its schedule, or was made: no run begins by a window that began before
ALTER TABLE job ADD COLUMN scheduled_at BIGINT NOT NULL DEFAULT 0;
