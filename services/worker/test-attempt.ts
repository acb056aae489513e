/** An attempt for the unit tests of the steps: a real one, on a lease that only remembers. */
import type { Lease } from '@taskbridge/broker';
import { type AttemptJob, attemptJobSchema, type Fact, type LogLine } from '@taskbridge/contract';
import { type Attempt, beginAttempt } from './attempt.ts';
import { cleaner } from './safe-text.ts';

export const testWorker = { workerId: 'w_test', host: 'test-host', slots: 1, versions: { taskbridge: '0.0.0' } };

export interface JobOverrides {
  contract?: Record<string, unknown>;
  project?: Record<string, unknown>;
}

export function testJob({ contract, project }: JobOverrides = {}): AttemptJob {
  return attemptJobSchema.parse({
    attemptId: 't_one-a1',
    taskId: 't_one',
    number: 1,
    fence: 3,
    title: 'One',
    clientId: 'c_test',
    project: { id: 'p_one', name: 'sample', source: '/nowhere', kind: 'path', baseBranch: 'main', ...project },
    contract: { goal: 'Do it.', ...contract },
    branch: 'taskbridge/one-one',
    dependencyCommits: [],
  });
}

export interface TestAttempt {
  attempt: Attempt;
  facts: Fact[];
  lines: LogLine[];
  /** Ends the lease. */
  lease: AbortController;
}

export function testAttempt(overrides: JobOverrides = {}): TestAttempt {
  const lease = new AbortController();
  const facts: Fact[] = [];
  const lines: LogLine[] = [];
  const given: Lease = { job: testJob(overrides), signal: lease.signal, fact: (f) => facts.push(f), log: (l) => lines.push(l) };
  return { attempt: beginAttempt(given, testWorker, { clean: cleaner(['model-key-123']), logLimitBytes: 1_000_000 }), facts, lines, lease };
}
