-- move: document MeetAgain, Claim
-- Visits of changed documents that are buffered are due now; an attempt that is made again keeps its date.
UPDATE queue SET due = $2 WHERE document IN any_of($1) AND due > $2 AND due < 9223372036854775807 AND reason = 'changed'
