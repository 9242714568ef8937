-- A document that could not be read has the change time of what was read last: which one that was is not known of those that failed before
UPDATE document SET access = 0 WHERE id IN (SELECT document FROM trouble WHERE kind = 'failed' AND code = 'unreadable');
