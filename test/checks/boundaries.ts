/** The boundaries of the house, as a list of what breaks them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Import, importsOf, sourceFiles } from './imports.ts';

/** Each lib may import those before it. */
export const libOrder = ['contract', 'platform', 'record', 'broker', 'dispatch', 'workspace', 'agents', 'cli'];

/** Who alone may use a package. */
const owners: [name: RegExp, owner: string][] = [
  [/^better-sqlite3$/, 'libs/record'],
  [/^(bullmq|ioredis)$/, 'libs/broker'],
  [/^@opencode-ai\//, 'libs/agents'],
  [/^(vitest|fast-check|@modelcontextprotocol\/sdk)($|\/)/, 'tests'],
];

/** What a service may not import, beside other services: a worker must run where there is no database. */
const forbidden: Record<string, string[]> = {
  'services/worker': ['record', 'dispatch', 'cli'],
  'services/board': ['broker', 'dispatch', 'cli'],
};

const longestFile = 400;

const isTest = (file: string): boolean => file.endsWith('.test.ts') || /\/test-[\w-]+\.ts$/.test(file);
const packageOf = (file: string): string => file.split('/').slice(0, 2).join('/');

function judge({ file, specifier, target }: Import): string | undefined {
  const from = packageOf(file);
  const tested = isTest(file);
  if (target !== undefined) {
    if (packageOf(target) === from || (tested && target.startsWith('test/'))) return undefined;
    return target === 'package.json' ? undefined : `${file} reaches into ${target}; import the package instead`;
  }
  const lib = /^@taskbridge\/([\w-]+)(\/.+)?$/.exec(specifier);
  if (lib?.[1]) {
    if (lib[2]) return `${file} imports ${specifier}; only a package's index is its face`;
    const rank = libOrder.indexOf(lib[1]);
    if (rank < 0) return `${file} imports the service ${lib[1]}`;
    if (forbidden[from]?.includes(lib[1])) return `${file} imports ${lib[1]}, which ${from} may not know`;
    if (!from.startsWith('libs/') || tested) return undefined;
    return rank < libOrder.indexOf(from.slice('libs/'.length)) ? undefined : `${file} imports ${lib[1]}, which stands above it`;
  }
  const owner = owners.find(([name]) => name.test(specifier))?.[1];
  if (owner === undefined || owner === from || (owner === 'tests' && tested)) return undefined;
  return tested ? undefined : `${file} imports ${specifier}, which belongs to ${owner}`;
}

/** Every breach of the boundaries below `root`, one sentence each. */
export function breaches(root: string): string[] {
  const files = sourceFiles(root, ['libs', 'services']);
  const found = files.flatMap((file) =>
    importsOf(root, file)
      .map(judge)
      .filter((breach) => breach !== undefined),
  );
  for (const file of files) {
    const lines = readFileSync(join(root, file), 'utf8').split('\n').length;
    if (lines > longestFile) found.push(`${file} has ${lines} lines; more than ${longestFile} hold more than one reason to exist`);
  }
  for (const lib of libOrder) {
    const index = join(root, 'libs', lib, 'index.ts');
    if (existsSync(index) && !readFileSync(index, 'utf8').startsWith('/**'))
      found.push(`libs/${lib}/index.ts does not say what it is and who may import it`);
  }
  return found;
}
