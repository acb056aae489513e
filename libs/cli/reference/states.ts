/** docs/states.md: the table of states as a diagram and in words. */
import { initialStates, isTerminal, stateOwners, taskStates, transitions } from '@taskbridge/contract';

/** The page as it should be. */
export function statesReference(): string {
  const arrows = transitions.map(({ from, on, to }) => `    ${from} --> ${to}: ${on}`);
  const starts = initialStates.map((state) => `    [*] --> ${state}: task.submitted`);
  const ends = taskStates.filter(isTerminal).map((state) => `    ${state} --> [*]`);
  const owners = Object.entries(stateOwners).map(
    ([state, { owner, meaning, otherwise }]) => `| \`${state}\` | ${meaning} | ${owner} | ${otherwise} |`,
  );
  const rows = transitions.map(({ from, on, to, by }) => `| \`${from}\` | \`${on}\` | \`${to}\` | ${by.join(', ')} |`);
  return `# Task states

<!-- Generated from libs/contract/states.ts by \`npm run taskbridge -- reference --write\`; a test keeps it current. -->

\`\`\`mermaid
stateDiagram-v2
${[...starts, ...arrows, ...ends].join('\n')}
\`\`\`

\`done\`, \`failed\` and \`cancelled\` are ends. Each other state names who must act next, and what happens if they never do:

| state | it | who acts next | otherwise |
|---|---|---|---|
${owners.join('\n')}

## Transitions

| from | event | to | caused by |
|---|---|---|---|
${rows.join('\n')}
`;
}
