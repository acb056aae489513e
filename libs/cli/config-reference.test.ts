import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { configSchema } from '@taskbridge/platform';
import { expect, test } from 'vitest';
import { configPage } from './commands/config-reference.ts';
import { configReference, settings } from './config-reference.ts';

test('docs/configuration.md is what the schema says', () => {
  expect(readFileSync(configPage, 'utf8'), 'run: npm run taskbridge -- config-reference --write').toBe(configReference());
});

test('every setting is explained, and none names the home of whoever wrote the page', () => {
  const all = settings();
  expect(all.map(({ key }) => key)).toEqual(Object.keys(configSchema.shape));
  for (const { key, meaning } of all) expect(meaning, key).not.toBe('');
  expect(all.find(({ key }) => key === 'data_dir')?.default).toBe('~/.taskbridge');
  expect(all.find(({ key }) => key === 'redis_url')?.default).toBeNull();
  expect(configReference()).not.toContain(`${homedir()}/`);
});
