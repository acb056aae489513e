/** docs/failure-reasons.md: every way an attempt can fail, and what to do about it. */
import { failureKinds } from '@taskbridge/contract';

/** The page as it should be. */
export function failuresReference(): string {
  const rows = Object.entries(failureKinds).map(
    ([reason, { sentence, next, retryable }]) => `| \`${reason}\` | ${sentence} | ${next} | ${retryable ? 'yes' : 'no'} |`,
  );
  return `# Failure reasons

<!-- Generated from libs/contract/failures.ts by \`npm run taskbridge -- reference --write\`; a test keeps it current. -->

A failed task carries one of these, with a detail about its very attempt. "Another attempt may help" says what kind of failure it is;
TaskBridge does not repeat an attempt by itself yet.

| reason | what happened | what to do | another attempt may help |
|---|---|---|---|
${rows.join('\n')}
`;
}
