-- From when on the history of each job is whole.
SELECT job, kind, at FROM history_from
