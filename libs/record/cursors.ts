/** Where consumers of other streams left off. */
import type { Database } from './database.ts';
import type { Cursors } from './types.ts';

export function createCursors(db: Database): Cursors {
  const select = db.prepare<[string], { value: string }>('SELECT value FROM cursors WHERE name = ?');
  const upsert = db.prepare('INSERT INTO cursors (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value');
  return {
    get: (name) => select.get(name)?.value,
    set: (name, value) => {
      upsert.run(name, value);
    },
  };
}
