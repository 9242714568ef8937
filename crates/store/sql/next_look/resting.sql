-- Those of these documents that nobody looks at now: their date has not come, or outputs are to lose them.
SELECT document FROM next_look WHERE document IN any_of($1) AND (due > $2 OR action = 'expire')
