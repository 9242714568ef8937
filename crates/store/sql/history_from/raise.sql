-- What was before this time was forgotten, or was not noted.
INSERT INTO history_from (job, kind, at) VALUES ($1, $2, $3)
ON CONFLICT (job, kind) DO UPDATE SET at = CASE WHEN excluded.at > history_from.at THEN excluded.at ELSE history_from.at END
