-- Those of records of which a delta run was told what they are in.
SELECT DISTINCT document FROM record_parent WHERE document IN any_of($1) AND epoch = $2
