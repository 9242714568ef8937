-- Numbers in use that their counters have not given out yet: they would be given twice.
SELECT t.top, b.next FROM (SELECT 'document' AS name, max(id) AS top FROM document UNION ALL SELECT 'container', max(id) FROM container
 UNION ALL SELECT 'acl', max(id) FROM acl UNION ALL SELECT 'seq', max(seq) FROM delivery
 UNION ALL SELECT 'ticket', max(number) FROM (SELECT number FROM ticket UNION ALL SELECT number FROM ticket_prepared) n UNION ALL SELECT 'report', max(report) FROM ticket
 UNION ALL SELECT 'handle', max(handle) FROM (SELECT handle FROM job UNION ALL SELECT handle FROM connection) h) t
 LEFT JOIN id_block b ON b.name = t.name WHERE t.top >= coalesce(b.next, 1) LIMIT $1
