/** What a person needs once the stack is up. */
import { type Config, paths } from '@taskbridge/platform';
import colors from 'picocolors';
import type { Stack } from './supervisor.ts';

/** The line that connects Claude Code. */
export const claudeLine = ({ mcpUrl, token }: Stack): string =>
  `claude mcp add --transport http taskbridge ${mcpUrl} --header "Authorization: Bearer ${token}"`;

export function banner(stack: Stack, config: Config, facts: { projects: number; practiceModel: boolean }): string {
  const lines = [
    '',
    colors.bold('TaskBridge is up. Ctrl-C stops it.'),
    '',
    `  board   ${colors.cyan(stack.boardUrl)}`,
    `  MCP     ${colors.cyan(stack.mcpUrl)}`,
    `  token   ${stack.token}  ${colors.gray(`(operator; kept in ${paths(config).operatorToken})`)}`,
    '',
    '  Connect Claude Code:',
    `  ${claudeLine(stack)}`,
  ];
  if (facts.projects === 0) lines.push('', '  Allow a repository:', '  npx taskbridge project add PATH');
  if (!config.model && !facts.practiceModel) {
    lines.push(
      '',
      `  ${colors.yellow('No model is configured')}: set TASKBRIDGE_MODEL=provider/model (with TASKBRIDGE_MODEL_API_KEY, and TASKBRIDGE_MODEL_BASE_URL for an`,
      '  endpoint of your own), then start again. To see it work without one: npm start -- --demo',
    );
  }
  return `${lines.join('\n')}\n`;
}
