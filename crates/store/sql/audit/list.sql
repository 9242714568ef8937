-- Changes before a number, the latest first.
SELECT number, at, caller, operation, job, outcome FROM audit WHERE number < $1 ORDER BY number DESC LIMIT $2
