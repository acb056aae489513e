/** The part of a git diff that belongs to one file. */

/** A path as git writes it in a diff: quoted when it holds what would confuse a reader. With `ascii`, other letters are quoted too. */
function gitQuoted(path: string, ascii: boolean): string {
  const named: Record<number, string> = { 7: '\\a', 8: '\\b', 9: '\\t', 10: '\\n', 11: '\\v', 12: '\\f', 13: '\\r', 34: '\\"', 92: '\\\\' };
  const text = Array.from(Buffer.from(path), (byte) => {
    if (named[byte]) return named[byte];
    return byte < 32 || byte === 127 || (ascii && byte > 127) ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte);
  }).join('');
  return text.includes('\\') ? `"${Buffer.from(text, 'latin1').toString()}"` : path;
}

/** The header lines that name the path, however git was told to quote. */
function namesOf(path: string): Set<string> {
  const spelled = (name: string) => [gitQuoted(name, true), gitQuoted(name, false)];
  const a = spelled(`a/${path}`);
  const b = spelled(`b/${path}`);
  return new Set([
    ...a.flatMap((from) => b.map((to) => `diff --git ${from} ${to}`)),
    ...a.map((name) => `--- ${name}`),
    ...b.map((name) => `+++ ${name}`),
    ...spelled(path).flatMap((name) => [`rename from ${name}`, `rename to ${name}`, `copy to ${name}`]),
  ]);
}

/** @returns undefined when the diff does not touch the path */
export function sectionOf(diff: string, path: string): string | undefined {
  const names = namesOf(path);
  return diff
    .split(/^(?=diff --git )/m)
    .filter((section) => {
      const header = section.split(/^(?:@@|GIT binary patch|Binary files )/m, 1)[0] ?? '';
      // A tab ends a name that holds a space.
      return header.split('\n').some((line) => names.has(line.replace(/\t$/, '')));
    })
    .reduce<string | undefined>((text, section) => (text ?? '') + section, undefined);
}
