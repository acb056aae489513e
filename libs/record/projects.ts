/** Projects: the allowlist of repositories. */
import { ApiError, newProjectId, type Project } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { EventLog } from './event-log.ts';
import type { Projects } from './types.ts';

export interface ProjectRow {
  id: string;
  name: string;
  source: string;
  kind: 'path' | 'url';
  host: string | null;
  base_branch: string;
  setup: string | null;
  checks: string;
}

export const toProject = (row: ProjectRow): Project => ({
  id: row.id,
  name: row.name,
  source: row.source,
  kind: row.kind,
  host: row.host ?? undefined,
  baseBranch: row.base_branch,
  setup: row.setup ?? undefined,
  checks: JSON.parse(row.checks) as string[],
});

export function createProjects(db: Database, events: EventLog): Projects {
  const columns = 'id, name, source, kind, host, base_branch, setup, checks';
  const byName = db.prepare<[string], ProjectRow>(`SELECT ${columns} FROM projects WHERE name = ? AND removed_at IS NULL`);
  const all = db.prepare<[], ProjectRow>(`SELECT ${columns} FROM projects WHERE removed_at IS NULL ORDER BY name`);
  const insert = db.prepare(
    `INSERT INTO projects (${columns}, created_at) VALUES (@id, @name, @source, @kind, @host, @base_branch, @setup, @checks, @created_at)`,
  );
  const openTasks = db.prepare<[string], { open: number }>('SELECT count(*) AS open FROM tasks WHERE project_id = ? AND ended_at IS NULL');
  const markRemoved = db.prepare('UPDATE projects SET removed_at = ? WHERE id = ?');

  const get = (name: string): Project => {
    const row = byName.get(name);
    if (row) return toProject(row);
    const known = all.all().map((p) => p.name);
    throw new ApiError('not_found', `There is no project named "${name}".`, {
      field: 'project',
      fix: known.length > 0 ? `Use one of: ${known.join(', ')}.` : 'Add one with: taskbridge project add PATH.',
    });
  };

  return {
    get,
    list: () => all.all().map(toProject),
    add: (input, actor) => {
      const id = newProjectId();
      db.transaction(() => {
        if (byName.get(input.name)) {
          throw new ApiError('wrong_state', `A project named "${input.name}" is there already.`, {
            field: 'name',
            fix: 'Choose another name or remove that one.',
          });
        }
        const at = Date.now();
        insert.run({
          id,
          name: input.name,
          source: input.source,
          kind: input.kind,
          host: input.host ?? null,
          base_branch: input.baseBranch,
          setup: input.setup ?? null,
          checks: JSON.stringify(input.checks ?? []),
          created_at: at,
        });
        events.append({ type: 'project.added', taskId: null, by: 'human', actor, data: { project: input.name } }, at);
      }).immediate();
      events.committed();
      return get(input.name);
    },
    remove: (name, actor) => {
      db.transaction(() => {
        const project = get(name);
        const open = openTasks.get(project.id)?.open ?? 0;
        if (open > 0) {
          throw new ApiError('wrong_state', `Project "${name}" has ${open} open task(s).`, {
            field: 'name',
            fix: 'Cancel them or wait for their end first.',
          });
        }
        const at = Date.now();
        markRemoved.run(at, project.id);
        events.append({ type: 'project.removed', taskId: null, by: 'human', actor, data: { project: name } }, at);
      }).immediate();
      events.committed();
    },
  };
}
