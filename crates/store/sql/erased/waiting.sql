-- Jobs of which something is to be erased that some output holds, or that was not looked at since.
SELECT DISTINCT job FROM erased WHERE done_at IS NULL
