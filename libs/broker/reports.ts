/** Reports on their way to the record: one hash per attempt with the report and its compressed parcels, and a set of those that wait. */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { artifactRefSchema, type Report, reportSchema } from '@taskbridge/contract';
import { markerSeconds } from './keys.ts';
import { type Line, newsText } from './line.ts';
import type { Parcel } from './types.ts';

const compress = promisify(gzip);
const expand = promisify(gunzip);

const labelsSchema = artifactRefSchema.pick({ name: true, mediaType: true, truncated: true }).array();
type Label = Omit<Parcel, 'content'>;

/** Puts a report and its parcels into Redis in one transaction. Repeating it changes nothing. */
export async function sendReport(line: Line, report: Report, parcels: Parcel[]): Promise<void> {
  const { keys } = line;
  const id = report.attemptId;
  const contents = await Promise.all(parcels.map((parcel) => compress(parcel.content)));
  const labels: Label[] = parcels.map(({ name, mediaType, truncated }) => ({ name, mediaType, truncated }));
  const fields = contents.flatMap((content, at) => [`parcel:${at}`, content]);
  await all(
    line.client
      .multi()
      .del(keys.report(id))
      .hset(keys.report(id), 'report', JSON.stringify(report), 'labels', JSON.stringify(labels), ...fields)
      .sadd(keys.reports, id)
      .publish(keys.news, newsText('report', id)),
  );
}

/** @returns undefined when no report of this attempt waits */
export async function readReport(line: Line, attemptId: string): Promise<{ report: Report; parcels: Parcel[] } | undefined> {
  const fields = await line.client.hgetallBuffer(line.keys.report(attemptId));
  const text = fields['report'];
  if (text === undefined) return undefined;
  const labels = labelsSchema.parse(JSON.parse(String(fields['labels'])));
  const contents = await Promise.all(labels.map((_, at) => expand(fields[`parcel:${at}`] ?? Buffer.alloc(0))));
  const parcels = labels.map((label, at) => ({ ...label, content: contents[at] as Buffer }));
  return { report: reportSchema.parse(JSON.parse(text.toString())), parcels };
}

/** The record has it: the report, its parcels and the log stream go, and its worker is told. */
export async function acknowledge(line: Line, attemptId: string): Promise<void> {
  const { keys } = line;
  await all(
    line.client
      .multi()
      .del(keys.report(attemptId), keys.log(attemptId))
      .srem(keys.reports, attemptId)
      .set(keys.acknowledged(attemptId), '1', 'EX', markerSeconds)
      .publish(keys.news, newsText('acknowledged', attemptId)),
  );
}

/** Runs a transaction; rejects when it, or any command in it, failed. */
export async function all(transaction: { exec(): Promise<[Error | null, unknown][] | null> }): Promise<unknown[]> {
  const results = (await transaction.exec()) ?? [];
  return results.map(([error, value]) => {
    if (error) throw error;
    return value;
  });
}
