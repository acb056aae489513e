-- Choosing what starts and listing by state must not read the rows of a long backlog: a contract may be megabytes, and what stands after it in a row costs as much.

DROP INDEX tasks_by_state;
CREATE INDEX tasks_by_state ON tasks (state, n);
CREATE INDEX ready_tasks ON tasks (client_id, project_id, priority DESC, n) WHERE state = 'ready';
