-- Groups that somebody is about to leave, who goes: whoever has looked at one has seen another one. A group that is in itself just goes.
UPDATE person_group SET changed_at = $3, revision = revision + 1
WHERE authority = $1 AND id <> $2 AND id IN (SELECT group_id FROM membership WHERE authority = $1 AND member = $2)
