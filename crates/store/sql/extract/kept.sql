-- Documents of which what is kept is of the version that is known, made by these stages.
SELECT e.document FROM extract e JOIN document d ON d.id = e.document
WHERE e.document IN any_of($1) AND e.stages = $2 AND e.version = d.version AND e.version <> 0
