import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { breaches } from './boundaries.ts';

test('nothing breaks the boundaries of the house', () => {
  expect(breaches(fileURLToPath(new URL('../../', import.meta.url)))).toEqual([]);
});

test.each([
  ['libs/contract/a.ts', "import { x } from '@taskbridge/record';", 'stands above it'],
  ['libs/agents/a.ts', "import type { Git } from '../workspace/git.ts';", 'reaches into'],
  ['libs/workspace/a.ts', "import { x } from '@taskbridge/contract/ids.ts';", "only a package's index"],
  ['services/worker/a.ts', "import { openRecord } from '@taskbridge/record';", 'may not know'],
  ['services/board/a.ts', "import { x } from '@taskbridge/gateway';", 'imports the service'],
  ['services/gateway/a.ts', "import Redis from 'ioredis';", 'belongs to libs/broker'],
  ['libs/broker/a.ts', "const s = await import('better-sqlite3');", 'belongs to libs/record'],
  ['libs/cli/a.ts', "import { test } from 'vitest';", 'belongs to tests'],
  ['libs/cli/index.ts', 'export {};', 'does not say what it is'],
  ['services/reaper/long.ts', '\n'.repeat(500), 'lines'],
])('%s with %j is found', (file, text, breach) => {
  const root = mkdtempSync(join(tmpdir(), 'tb-house-'));
  try {
    for (const dir of ['libs', 'services']) mkdirSync(join(root, dir));
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
    expect(breaches(root)).toEqual([expect.stringContaining(breach)]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
