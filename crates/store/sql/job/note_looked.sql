-- Everything of a job was looked at by this.
UPDATE job SET looked = $2 WHERE handle = $1
