-- One connection.
SELECT kind, name, settings, identity, generation, session, next_session, ceiling FROM connection WHERE handle = $1
