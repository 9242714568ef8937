-- What a channel told after a report, with the tickets that it is about.
SELECT r.serial, r.at, r.kind, r.ticket, r.word, r.about, t.key_text, t.op, t.user_ref, t.outcome, t.code, t.message
FROM channel_report r LEFT JOIN ticket t ON t.number = r.ticket WHERE r.channel = $1 AND r.serial > $2 ORDER BY r.serial LIMIT $3
