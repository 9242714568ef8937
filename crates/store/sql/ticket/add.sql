-- What was asked of records.
INSERT INTO ticket (number, job, document, key_text, op, requests, accepted_at, pushed_by, channel, user_ref, code, message)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, '', '' FROM {rows:bigint,bigint,bigint,text,text,bigint,bigint,text,bigint,text}
