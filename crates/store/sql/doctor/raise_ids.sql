-- No number that is in use is given again.
INSERT INTO id_block (name, next) SELECT t.name, t.top + 1 FROM (SELECT 'document' AS name, max(id) AS top FROM document
 UNION ALL SELECT 'container', max(id) FROM container UNION ALL SELECT 'acl', max(id) FROM acl
 UNION ALL SELECT 'seq', max(seq) FROM delivery
 UNION ALL SELECT 'ticket', max(number) FROM (SELECT number FROM ticket UNION ALL SELECT number FROM ticket_prepared) n UNION ALL SELECT 'report', max(report) FROM ticket
 UNION ALL SELECT 'handle', max(handle) FROM (SELECT handle FROM job UNION ALL SELECT handle FROM connection) h) t
WHERE t.top IS NOT NULL ON CONFLICT (name) DO UPDATE SET next = excluded.next WHERE id_block.next < excluded.next
