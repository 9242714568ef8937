-- Outputs that do not take what they are sent.
SELECT handle, name, health, health_since, health_why FROM connection WHERE role = 'output' AND health <> 'healthy' ORDER BY handle
