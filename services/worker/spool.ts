/**
 * Reports that the record does not have yet, on disk: one file per attempt, so that one rename makes it whole.
 * The first line is JSON: the report and a list of its parcels; their contents follow, end to end.
 *
 * The spool is shared by all workers of a data folder: sending a report twice is harmless, so a worker needs no
 * claim on what a dead one left, and none is ever stuck behind a claim.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Parcel } from '@taskbridge/broker';
import { type Report, reportSchema } from '@taskbridge/contract';
import type { Log } from '@taskbridge/platform';
import { z } from 'zod';

const suffix = '.spool';
/** A half-written file this old belongs to a worker that died while writing. */
const abandonedMs = 60 * 60 * 1000;

const headSchema = z.object({
  report: reportSchema,
  parcels: z.array(
    z.object({
      name: z.string(),
      mediaType: z.string(),
      truncated: z.boolean(),
      bytes: z.number().int().nonnegative(),
      sha256: z.string(),
    }),
  ),
});

export interface Spooled {
  report: Report;
  parcels: Parcel[];
}

export interface Spool {
  /** On disk for good once it resolves. */
  put(entry: Spooled): Promise<void>;
  /** Attempt ids of what waits, oldest first. */
  list(): Promise<string[]>;
  /** Undefined when it is gone, or was unreadable and is set aside. */
  read(attemptId: string): Promise<Spooled | undefined>;
  remove(attemptId: string): Promise<void>;
}

export const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

export async function openSpool(dir: string, log: Log): Promise<Spool> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await removeAbandoned(dir);
  const fileOf = (attemptId: string) => join(dir, `${attemptId}${suffix}`);

  return {
    async put({ report, parcels }) {
      const half = join(dir, `.${report.attemptId}-${randomBytes(4).toString('hex')}`);
      const head = {
        report,
        parcels: parcels.map(({ content, ...rest }) => ({ ...rest, bytes: content.length, sha256: sha256(content) })),
      };
      try {
        await writeDurably(half, [Buffer.from(`${JSON.stringify(head)}\n`), ...parcels.map((p) => p.content)]);
        await rename(half, fileOf(report.attemptId));
      } catch (error) {
        await rm(half, { force: true });
        throw error;
      }
      await syncFolder(dir);
    },

    async list() {
      const names = (await readdir(dir)).filter((name) => name.endsWith(suffix) && !name.startsWith('.'));
      const ages = await Promise.all(
        names.map((name) =>
          stat(join(dir, name)).then(
            (s) => s.mtimeMs,
            () => 0,
          ),
        ),
      );
      return names
        .map((name, i) => ({ id: name.slice(0, -suffix.length), age: ages[i] ?? 0 }))
        .sort((a, b) => a.age - b.age)
        .map(({ id }) => id);
    },

    async read(attemptId) {
      let content: Buffer;
      try {
        content = await readFile(fileOf(attemptId));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
      try {
        return parse(content);
      } catch (err) {
        const aside = `${fileOf(attemptId)}.corrupt`;
        log.error({ err, attempt: attemptId, file: aside }, 'a spooled report is unreadable and is set aside');
        await rename(fileOf(attemptId), aside);
        return undefined;
      }
    },

    remove: (attemptId) => rm(fileOf(attemptId), { force: true }),
  };
}

function parse(content: Buffer): Spooled {
  const end = content.indexOf('\n');
  const head = headSchema.parse(JSON.parse(content.toString('utf8', 0, Math.max(0, end))));
  let from = end + 1;
  const parcels = head.parcels.map(({ bytes, sha256: expected, ...rest }) => {
    const piece = content.subarray(from, from + bytes);
    from += bytes;
    if (sha256(piece) !== expected) throw new Error(`parcel ${rest.name} is damaged`);
    return { ...rest, content: piece };
  });
  return { report: head.report, parcels };
}

async function writeDurably(file: string, pieces: Buffer[]): Promise<void> {
  await using handle = await open(file, 'wx', 0o600);
  // Each write goes on where the one before ended.
  for (const piece of pieces) await handle.writeFile(piece);
  await handle.sync();
}

/** Makes a rename in the folder last through a power loss. */
async function syncFolder(dir: string): Promise<void> {
  await using handle = await open(dir, 'r');
  await handle.sync();
}

async function removeAbandoned(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!name.startsWith('.')) continue;
    const { mtimeMs } = await stat(join(dir, name));
    if (Date.now() - mtimeMs > abandonedMs) await rm(join(dir, name), { force: true });
  }
}
