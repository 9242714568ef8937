-- of outputs: whether they take what they are sent, as the service found last: healthy, unavailable or corrupt; since when they are so, and what they said
ALTER TABLE connection ADD COLUMN health TEXT NOT NULL DEFAULT 'healthy';
ALTER TABLE connection ADD COLUMN health_since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connection ADD COLUMN health_why TEXT NOT NULL DEFAULT '';
