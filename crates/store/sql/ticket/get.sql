-- One ticket.
SELECT number, job, key_text, op, accepted_at, report, completed_at, outcome, code, message, channel FROM ticket WHERE number = $1
