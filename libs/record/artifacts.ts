/** Artifacts: content-addressed, compressed files beside the database. A file is written whole before a row refers to it. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ArtifactRef } from '@taskbridge/contract';
import type { Database } from './database.ts';
import type { ArtifactContent } from './types.ts';

interface Row {
  attempt_id: string;
  name: string;
  media_type: string;
  sha256: string;
  truncated: number;
  bytes: number;
}

export interface ArtifactStore {
  /** Writes the content to disk, durably. @returns its SHA-256 */
  put(content: Buffer): string;
  /** Makes the content an artifact of the attempt, within the caller's transaction. */
  attach(attemptId: string, artifact: ArtifactContent, sha256: string): void;
  ofAttempt(attemptId: string): ArtifactRef[];
  ofTask(taskId: string): (ArtifactRef & { attemptId: string })[];
  /** Of the newest attempt that has one of this name, or of the attempt asked for. */
  newest(taskId: string, name: string, attemptId?: string): { ref: ArtifactRef & { attemptId: string }; content: Buffer } | undefined;
}

const toRef = (row: Row): ArtifactRef & { attemptId: string } => ({
  attemptId: row.attempt_id,
  name: row.name,
  mediaType: row.media_type,
  bytes: row.bytes,
  sha256: row.sha256,
  truncated: row.truncated === 1,
});

export function createArtifactStore(db: Database, dir: string): ArtifactStore {
  const insertArtifact = db.prepare('INSERT INTO artifacts (sha256, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const attach = db.prepare('INSERT INTO attempt_artifacts (attempt_id, name, media_type, sha256, truncated) VALUES (?, ?, ?, ?, ?)');
  const select = 'SELECT aa.*, f.bytes FROM attempt_artifacts aa JOIN artifacts f ON f.sha256 = aa.sha256';
  const ofAttempt = db.prepare<[string], Row>(`${select} WHERE aa.attempt_id = ? ORDER BY aa.name`);
  const joined = `${select} JOIN attempts a ON a.id = aa.attempt_id WHERE a.task_id = ?`;
  const ofTask = db.prepare<[string], Row>(`${joined} ORDER BY a.number, aa.name`);
  const newest = db.prepare<[string, string, string | null], Row>(
    `${joined} AND aa.name = ? AND a.id = coalesce(?, a.id) ORDER BY a.number DESC LIMIT 1`,
  );

  const fileOf = (sha256: string): string => join(dir, sha256.slice(0, 2), `${sha256.slice(2)}.gz`);

  return {
    put: (content) => {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const file = fileOf(sha256);
      if (existsSync(file)) return sha256;
      makeFolder(dirname(file));
      const temporary = `${file}.${process.pid}.tmp`;
      const fd = openSync(temporary, 'w', 0o600);
      try {
        // The whole of it or an error: a single write to a disk that fills up may end early without one.
        writeFileSync(fd, gzipSync(content));
        fsyncSync(fd);
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      } finally {
        closeSync(fd);
      }
      renameSync(temporary, file);
      syncFolder(dirname(file));
      return sha256;
    },
    attach: (attemptId, artifact, sha256) => {
      insertArtifact.run(sha256, artifact.content.byteLength);
      attach.run(attemptId, artifact.name, artifact.mediaType, sha256, artifact.truncated ? 1 : 0);
    },
    ofAttempt: (attemptId) =>
      ofAttempt.all(attemptId).map((row) => {
        const { attemptId: _, ...ref } = toRef(row);
        return ref;
      }),
    ofTask: (taskId) => ofTask.all(taskId).map(toRef),
    newest: (taskId, name, attemptId) => {
      const row = newest.get(taskId, name, attemptId ?? null);
      return row && { ref: toRef(row), content: gunzipSync(readFileSync(fileOf(row.sha256))) };
    },
  };
}

/** Makes a folder and those above it, durably: each stands in the one above. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made !== dirname(first); made = dirname(made)) syncFolder(dirname(made));
}

/** A rename is durable once its folder is. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
