/** The boundaries of the house, as a list of what breaks them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Import, importsOf, packages, sourceFiles } from './imports.ts';

/** Each lib may import those before it. */
export const libOrder = ['contract', 'platform', 'record', 'broker', 'dispatch', 'workspace', 'agents', 'cli'];

/** Who alone may use a package. */
const owners: [name: RegExp, owner: string][] = [
  [/^better-sqlite3$/, 'libs/record'],
  [/^(bullmq|ioredis)$/, 'libs/broker'],
  [/^@opencode-ai\//, 'libs/agents'],
  [/^simple-git$/, 'libs/workspace'],
  [/^(vitest|fast-check|@modelcontextprotocol\/sdk)($|\/)/, 'tests'],
];

/** A worker must run where there is no database, so neither it nor a lib it stands on may know the record. A board only reads. */
const forbidden: Record<string, string[]> = {
  'libs/broker': ['record'],
  'libs/workspace': ['record', 'dispatch'],
  'libs/agents': ['record', 'dispatch'],
  'services/worker': ['record', 'dispatch', 'cli'],
  'services/board': ['broker', 'dispatch', 'cli'],
};

/** Who runs git: the workspace, and the demo, which plays the person whose repository it is. */
const gitRunners = ['libs/workspace/', 'libs/cli/demo/repository.ts'];
const runsGit = /\b(?:execa|execaSync|spawn|spawnSync|exec|execSync|execFile|execFileSync)\(\s*['"`]git\b/;

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
  if (specifier === undefined) return `${file} names what it imports only as it runs; nobody can hold it to anything`;
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

/** The packages that a lib or service asks for and no file of it names. */
function unusedPackages(root: string, name: string, files: readonly string[]): string[] {
  const manifest = join(root, name, 'package.json');
  if (!existsSync(manifest)) return [];
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, Record<string, string>>;
  const texts = files.filter((file) => packageOf(file) === name).map((file) => readFileSync(join(root, file), 'utf8'));
  const isNamed = (wanted: string) => texts.some((text) => [`'${wanted}'`, `'${wanted}/`].some((quoted) => text.includes(quoted)));
  return Object.keys({ ...dependencies, ...devDependencies }).filter((wanted) => !isNamed(wanted));
}

/** Every breach of the boundaries below `root`, one sentence each. */
export function breaches(root: string): string[] {
  const files = sourceFiles(root, ['libs', 'services']);
  const found = files.flatMap((file) =>
    importsOf(root, file)
      .map(judge)
      .filter((breach) => breach !== undefined),
  );
  for (const file of [...files, ...sourceFiles(root, ['test'])]) {
    const text = readFileSync(join(root, file), 'utf8');
    const lines = text.split('\n').length;
    if (lines > longestFile) found.push(`${file} has ${lines} lines; more than ${longestFile} hold more than one reason to exist`);
    const ours = file.startsWith('test/') || isTest(file) || gitRunners.some((runner) => file.startsWith(runner));
    if (!ours && runsGit.test(text)) found.push(`${file} runs git, which belongs to libs/workspace`);
  }
  for (const name of packages(root))
    for (const unused of unusedPackages(root, name, files)) found.push(`${name} asks for ${unused} and never imports it`);
  for (const lib of libOrder) {
    const index = join(root, 'libs', lib, 'index.ts');
    if (existsSync(index) && !readFileSync(index, 'utf8').startsWith('/**'))
      found.push(`libs/${lib}/index.ts does not say what it is and who may import it`);
  }
  return found;
}
