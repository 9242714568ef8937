-- One connection.
SELECT kind, name, settings, identity, generation, session, next_session, ceiling, authority_group, role FROM connection WHERE handle = $1
