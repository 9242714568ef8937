-- The connection of a role by name.
SELECT handle, kind, name, settings, identity, generation, session, next_session, ceiling, authority_group, health, health_since, health_why FROM connection WHERE role = $1 AND name = $2
