/** Reads which file imports what, from its syntax tree. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { parseAst } from 'vitest/node';

export interface Import {
  /** Path of the importing file, from the root. */
  file: string;
  /** Undefined when only running the code would tell. */
  specifier: string | undefined;
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

/** A node of the syntax tree, as far as looking for imports goes. */
interface Node {
  type: string;
  source?: Node | null;
  callee?: Node;
  arguments?: Node[];
  name?: string;
  value?: unknown;
  quasis?: { value: { cooked: string } }[];
}

/** Nodes that import what their source names. */
const withSource = new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration', 'ImportExpression', 'TSImportType']);

/** What a node imports: the node that names it, or undefined when it imports nothing. */
function named(node: Node): Node | undefined {
  if (withSource.has(node.type)) return node.source ?? undefined;
  if (node.type !== 'CallExpression') return undefined;
  const { callee } = node;
  return callee?.name === 'require' || callee?.callee?.name === 'createRequire' ? node.arguments?.[0] : undefined;
}

/** The name, or undefined when only running the code would tell. */
function nameIn({ value, quasis }: Node): string | undefined {
  if (typeof value === 'string') return value;
  return quasis?.length === 1 ? quasis[0]?.value.cooked : undefined;
}

function* nodesOf(part: unknown): Generator<Node> {
  if (typeof part !== 'object' || part === null) return;
  if ('type' in part) yield part as Node;
  for (const inner of Object.values(part)) yield* nodesOf(inner);
}

/** Every import of a file, of types too, wherever in it and in whichever form it stands. */
export function importsOf(root: string, file: string): Import[] {
  const tree = parseAst(readFileSync(join(root, file), 'utf8'), { lang: 'ts' }, file);
  return [...nodesOf(tree)].flatMap((node) => {
    const naming = named(node);
    if (naming === undefined) return [];
    const specifier = nameIn(naming);
    const target = specifier?.startsWith('.')
      ? relative(root, resolve(join(root, dirname(file)), specifier))
          .split(sep)
          .join('/')
      : undefined;
    return [{ file, specifier, target }];
  });
}
