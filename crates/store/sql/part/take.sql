-- Takes a part of the work from whoever held it and raises its epoch.
INSERT INTO part (number, process, epoch) VALUES ($1, $2, 1) ON CONFLICT (number) DO UPDATE SET process = excluded.process, epoch = part.epoch + 1 RETURNING epoch
