import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { configSchema } from '@taskbridge/platform';
import { expect, test } from 'vitest';
import { configReference, settings } from './configuration.ts';
import { pages } from './pages.ts';

test.each(pages)('$file is current', ({ file, content }) => {
  expect(readFileSync(file, 'utf8'), 'run: npm run taskbridge -- reference --write').toBe(content());
});

test('every setting is explained, and none names the home of whoever wrote the page', () => {
  const all = settings();
  expect(all.map(({ key }) => key)).toEqual(Object.keys(configSchema.shape));
  for (const { key, meaning } of all) expect(meaning, key).not.toBe('');
  expect(all.find(({ key }) => key === 'data_dir')?.default).toBe('~/.taskbridge');
  expect(all.find(({ key }) => key === 'redis_url')?.default).toBeNull();
  expect(configReference()).not.toContain(`${homedir()}/`);
});
