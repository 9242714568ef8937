-- What a sink is about to be told of.
INSERT INTO ticket_prepared (number, call, channel, job, key_text, op, prepared_at, pushed_by, user_ref)
SELECT c1, c2, c3, c4, c5, c6, c7, c8, c9 FROM {rows:bigint,bigint,bigint,bigint,text,text,bigint,text,text}
