-- What a job that is to go has said of compounds.
DELETE FROM record_parent WHERE job = $1
