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
  ['libs/contract/a.ts', 'stands above it', "import { x } from '@taskbridge/record';"],
  ['libs/agents/a.ts', 'reaches into', "import type { Git } from '../workspace/git.ts';"],
  ['libs/cli/a.ts', 'reaches into', "import { x } from '../../test/support/redis.ts';"],
  ['libs/agents/a.ts', 'may not know', "export { openRecord } from '@taskbridge/record';"],
  ['services/worker/a.ts', 'may not know', "import { x } from '@taskbridge/dispatch';"],
  ['services/worker/a.ts', 'runs git', "await execa('git', ['status']);"],
  ['services/worker/a.ts', 'belongs to libs/workspace', "import { simpleGit } from 'simple-git';"],
  ['libs/record/a.ts', 'belongs to libs/agents', "import { x } from '@opencode-ai/sdk';"],
  ['libs/cli/package.json', 'never imports', '{"dependencies":{"left-pad":"1.0.0"}}'],
  ['test/e2e/long.ts', 'lines', '\n'.repeat(500)],
  ['libs/workspace/a.ts', "only a package's index", "import { x } from '@taskbridge/contract/ids.ts';"],
  ['services/worker/a.ts', 'may not know', "import { openRecord } from '@taskbridge/record';"],
  ['services/board/a.ts', 'imports the service', "import { x } from '@taskbridge/gateway';"],
  ['services/gateway/a.ts', 'belongs to libs/broker', "import Redis from 'ioredis';"],
  ['libs/broker/a.ts', 'belongs to libs/record', "const s = await import('better-sqlite3');"],
  ['libs/cli/a.ts', 'belongs to tests', "import { test } from 'vitest';"],
  ['libs/cli/a.ts', 'belongs to libs/broker', "import a from 'node:fs'; import Redis from 'ioredis';"],
  ['libs/cli/a.ts', 'belongs to libs/broker', "import {\n  // don't\n  Redis,\n} from 'ioredis';"],
  ['libs/cli/a.ts', 'belongs to libs/broker', "let redis: import('ioredis').Redis | undefined;"],
  ['libs/cli/a.ts', 'belongs to libs/record', "const db = createRequire(import.meta.url)('better-sqlite3');"],
  ['libs/cli/a.ts', 'belongs to libs/record', 'const db = await import(`better-sqlite3`);'],
  ['libs/cli/a.ts', 'names what it imports only as it runs', 'const db = await import(name);'],
  ['libs/cli/index.ts', 'does not say what it is', 'export {};'],
  ['services/reaper/long.ts', 'lines', '\n'.repeat(500)],
])('a breach in %s is found: %s', (file, breach, text) => {
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
