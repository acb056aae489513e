/** The log of one attempt: every line is numbered, goes to the live stream at once, and is kept for the `log` parcel. */
import type { Parcel } from '@taskbridge/broker';
import type { LogLine } from '@taskbridge/contract';
import { type Clean, cut } from './safe-text.ts';

/** Longest line that is kept whole, in characters: longer ones serve no reader. */
export const lineLimit = 4_000;

export interface AttemptLog {
  /** Adds `raw` as one log line per line of text. Never throws. */
  write(kind: LogLine['kind'], raw: string | Uint8Array): void;
  /** The whole log so far. */
  parcel(): Parcel;
}

export interface AttemptLogOptions {
  /** The live stream. */
  stream(line: LogLine): void;
  clean: Clean;
  /** Most bytes of the parcel. */
  limitBytes: number;
}

export function createAttemptLog({ stream, clean, limitBytes }: AttemptLogOptions): AttemptLog {
  const mark = `The log is cut here: it reached its limit of ${limitBytes} bytes.`;
  const whole = limitBytes - 2 * mark.length;
  // TaskBridge's own lines come last and say how it ended: a chatty agent must not use up their room.
  const forAgent = whole - Math.min(64 * 1024, Math.floor(limitBytes / 4));
  const kept: string[] = [];
  let bytes = 0;
  let truncated = false;

  const append = (kind: LogLine['kind'], text: string, room: number): boolean => {
    const line: LogLine = { n: kept.length + 1, at: Date.now(), kind, text };
    const json = `${JSON.stringify(line)}\n`;
    const size = Buffer.byteLength(json);
    if (bytes + size > room) return false;
    kept.push(json);
    bytes += size;
    stream(line);
    return true;
  };

  return {
    write(kind, raw) {
      const room = kind === 'phase' || kind === 'error' ? whole : forAgent;
      for (const text of clean(raw).replace(/\n+$/, '').split('\n')) {
        if (append(kind, cut(text, lineLimit), room) || truncated) continue;
        truncated = true;
        append('error', mark, limitBytes);
      }
    },
    parcel: () => ({ name: 'log', mediaType: 'application/x-ndjson', truncated, content: Buffer.from(kept.join('')) }),
  };
}
