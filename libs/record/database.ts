/** Opens the database and brings its schema up to date. */
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';

export type Database = Sqlite.Database;
export type Statement<Bind extends unknown[], Row> = Sqlite.Statement<Bind, Row>;

const migrationsDir = new URL('./migrations/', import.meta.url);

/** How long a writer waits for another one, in milliseconds. Transactions here are short; a wait this long means a stuck process. */
const busyMs = 10_000;

export const databaseFile = (dir: string): string => join(dir, 'taskbridge.db');

/**
 * Opens (or makes) the database in `dir`.
 * @throws Error when the database was made by a newer version
 */
export function openDatabase(dir: string): Database {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Also a folder that was there before: contracts and logs are for its owner alone.
  chmodSync(dir, 0o700);
  const db = new Sqlite(databaseFile(dir), { timeout: busyMs });
  db.pragma('journal_mode = WAL');
  // An acknowledged submit survives power loss.
  db.pragma('synchronous = FULL');
  // On macOS only this makes the drive write what it was given; elsewhere it changes nothing.
  db.pragma('fullfsync = ON');
  db.pragma('foreign_keys = ON');
  migrate(db);
  return db;
}

/** Applies the migrations not yet applied, each in a transaction of its own. The number applied is the database's user_version. */
function migrate(db: Database): void {
  const files = readdirSync(migrationsDir)
    .filter((name) => /^\d{4}-.*\.sql$/.test(name))
    .sort();
  const version = () => Number(db.pragma('user_version', { simple: true }));
  if (version() > files.length) {
    throw new Error(
      `The record is of schema ${version()}, and this TaskBridge knows ${files.length}. Run the newer TaskBridge, or restore a backup made before it.`,
    );
  }
  for (const [index, name] of files.entries()) {
    // What is up to date is opened without waiting for a writer.
    if (version() > index) continue;
    db.transaction(() => {
      // Read again inside the transaction: several services may start at once.
      if (version() > index) return;
      db.exec(readFileSync(new URL(name, migrationsDir), 'utf8'));
      db.pragma(`user_version = ${index + 1}`);
    }).immediate();
  }
}
