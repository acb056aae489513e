/** The sample repository of the demo: small, with a test that plain Node can run. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';

const files: Record<string, string> = {
  'README.md': '# Greetings\n\nA sample repository for the TaskBridge demo. Run the tests with `node test.mjs`.\n',
  'greet.mjs': '/** A greeting for a name. */\nexport function greet(name) {\n  return `Hello, ${name}!`;\n}\n',
  'test.mjs':
    "import assert from 'node:assert/strict';\nimport { greet } from './greet.mjs';\n\nassert.equal(greet('Ada'), 'Hello, Ada!');\nconsole.log('ok');\n",
};

/** The command that tests it. */
export const sampleCheck = 'node test.mjs';

/** Makes the repository in `dir`, unless it is there from a demo before. */
export async function ensureSampleRepository(dir: string): Promise<void> {
  if (existsSync(join(dir, '.git'))) return;
  mkdirSync(dir, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  const git = (...args: string[]) => execa('git', args, { cwd: dir, stdin: 'ignore' });
  await git('init', '-q', '-b', 'main');
  await git('add', '.');
  // The person's own identity, hooks and signing have no part in a sample.
  const plain = ['user.name=TaskBridge demo', 'user.email=demo@taskbridge.invalid', 'commit.gpgSign=false', 'core.hooksPath=/dev/null'];
  await git(...plain.flatMap((setting) => ['-c', setting]), 'commit', '-q', '-m', 'A greeting');
}
