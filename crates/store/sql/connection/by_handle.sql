-- One connection.
SELECT kind, name, settings, identity, generation, session, next_session, ceiling, authority_group, health, health_since, health_why, role FROM connection WHERE handle = $1
