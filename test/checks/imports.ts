/** Reads which file imports what, as text: enough to hold the house's boundaries. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

export interface Import {
  /** Path of the importing file, from the root. */
  file: string;
  specifier: string;
  /** For a relative import: what it names, from the root. */
  target: string | undefined;
}

/** Every lib and service, as paths from `root`. */
export const packages = (root: string): string[] =>
  ['libs', 'services'].flatMap((dir) => readdirSync(join(root, dir)).map((name) => `${dir}/${name}`));

/** Every TypeScript file below those of `dirs` that are there, as paths from `root`. */
export function sourceFiles(root: string, dirs: readonly string[]): string[] {
  return dirs
    .filter((dir) => existsSync(join(root, dir)))
    .flatMap((dir) => readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name)))
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => name.split(sep).join('/'));
}

const statement =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

export function importsOf(root: string, file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const target = specifier.startsWith('.')
      ? relative(root, resolve(join(root, dirname(file)), specifier))
          .split(sep)
          .join('/')
      : undefined;
    return { file, specifier, target };
  });
}
