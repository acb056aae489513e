/** The scope gate: which changed files no glob of the contract allows. */
import picomatch from 'picomatch';
import type { OutOfScope } from './types.ts';

export const outOfScope: OutOfScope = (files, scope) => {
  if (scope.length === 0) return [];
  const globs = scope.map((glob) => (glob.endsWith('/') ? `${glob}**` : glob)).map((glob) => glob.replace(/^\.\//, ''));
  const allowed = picomatch(globs, { dot: true });
  return files.filter((file) => !allowed(file));
};
