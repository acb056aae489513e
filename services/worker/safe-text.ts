/** Makes any output fit to be stored, sent and shown: an agent may print NUL, broken UTF-8, escape codes and secrets. */
import { stripVTControlCharacters } from 'node:util';
import { redact } from '@taskbridge/platform';

/** Control characters but for tab and newline, and the separators that some readers take for a newline. */
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;

/** `raw` as well-formed text: invalid UTF-8, lone surrogates and control characters become U+FFFD, escape codes go, every line end is a newline. */
export function safeText(raw: string | Uint8Array): string {
  const text = typeof raw === 'string' ? raw.toWellFormed() : new TextDecoder().decode(raw);
  return stripVTControlCharacters(text).replace(/\r\n?/g, '\n').replace(unsafe, '\ufffd');
}

/** Safe text without secrets. */
export type Clean = (raw: string | Uint8Array) => string;

/** A Clean that also knows the values of `secrets`. */
export const cleaner =
  (secrets: readonly string[]): Clean =>
  (raw) =>
    redact(safeText(raw), secrets);

/** `text` of `max` characters at most; what was cut is said at its end. Cut only text that is clean: half a secret is not recognised. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const mark = ` … [cut, ${text.length} characters in all]`;
  return `${text.slice(0, Math.max(0, max - mark.length)).toWellFormed()}${mark}`.slice(0, max);
}

/** The first line of `text` that says something, `max` characters at most. */
export function firstLine(text: string, max: number): string {
  const line = text.split('\n').find((l) => l.trim() !== '') ?? '';
  return cut(line.trim(), max);
}
