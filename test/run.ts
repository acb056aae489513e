/** Runs the tests: `npm test [-- FILTER…]`. The last line of its output is always `N passed, N failed`, with `, N skipped` when any were. */
import { startVitest } from 'vitest/node';
import { bubblewrapPackage, ensureSystemPackage, gitPackage, redisPackage } from '../libs/cli/system-packages.ts';
import { countResults, lastLine } from './tally.ts';

const filters = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

for (const wanted of [gitPackage, redisPackage, ...(process.platform === 'linux' ? [bubblewrapPackage] : [])]) {
  const missing = await ensureSystemPackage(wanted, say);
  // Said, not fatal: the tests that need it fail and are counted.
  if (missing) say(missing);
}

const vitest = await startVitest(filters, { run: true, watch: false, reporters: ['default'], passWithNoTests: true });
const results = countResults(vitest.state.getTestModules(), vitest.state.getUnhandledErrors().length);
await vitest.close();

const succeeded = results.failed === 0 && results.passed > 0;
if (results.passed + results.failed === 0) say('No test ran.');
process.stdout.write(`${lastLine(results)}\n`, () => process.exit(succeeded ? 0 : 1));
