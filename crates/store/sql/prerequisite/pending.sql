-- Which of these documents wait for an event that is pending.
SELECT p.document, p.event FROM prerequisite p JOIN event e ON e.name = p.event WHERE p.document IN any_of($1)
