/** The operator's token: made at the first start, kept where only this user can read it. */
import { existsSync, readFileSync } from 'node:fs';
import { type Config, paths } from '@taskbridge/platform';
import type { TaskRecord } from '@taskbridge/record';
import { writePrivateFile } from './private-file.ts';

/** The token in the data folder; undefined before the first start. */
export function readOperatorToken(config: Config): string | undefined {
  const file = paths(config).operatorToken;
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** The operator's token, made anew when there is none or when the record no longer accepts it. */
export function ensureOperatorToken(config: Config, record: TaskRecord): string {
  const kept = readOperatorToken(config);
  if (kept && record.tokens.verify(kept)?.operator) return kept;
  const { token } = record.tokens.create('operator', { operator: true }, 'cli');
  writePrivateFile(paths(config).operatorToken, `${token}\n`);
  return token;
}
