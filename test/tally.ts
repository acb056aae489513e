/** Counts what a run of vitest came to. */
import type { TestModule } from 'vitest/node';

export interface Results {
  passed: number;
  failed: number;
  skipped: number;
}

/** Files that could not be loaded, hooks that failed outside a test and errors that nothing caught count as failures of their own. */
export function countResults(modules: readonly TestModule[], unhandledErrors: number): Results {
  const results: Results = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    const states = [...module.children.allTests()].map((test) => test.result().state);
    results.passed += states.filter((state) => state === 'passed').length;
    const failed = states.filter((state) => state === 'failed' || state === 'pending').length;
    results.failed += failed;
    results.skipped += states.filter((state) => state === 'skipped').length;
    if (failed === 0 && module.state() === 'failed') results.failed += 1;
  }
  return results;
}

export const lastLine = ({ passed, failed, skipped }: Results): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
