/** taskbridge token: who may come in through the gateway. */

import type { TokenInfo } from '@taskbridge/record';
import type { Command } from 'commander';
import { localActor, withRecord } from '../local-record.ts';
import { ago, print, printJson, table } from '../output.ts';

export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('The tokens that clients come in with.');
  token
    .command('create')
    .description('Make a token for a client. It is shown this once and never stored.')
    .argument('<client-name>')
    .option('--operator', "an operator sees and changes every client's tasks")
    .option('--json', 'print JSON')
    .action((name: string, options: { operator?: boolean; json?: boolean }) =>
      withRecord((record) => {
        const made = record.tokens.create(name, { operator: Boolean(options.operator) }, localActor);
        if (options.json) printJson({ token: made.token, ...made.info });
        else print(made.token);
      }),
    );
  token
    .command('list')
    .description('Show the tokens, never their text.')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) =>
      withRecord((record) => {
        const tokens = record.tokens.list();
        if (options.json) return printJson(tokens);
        if (tokens.length === 0) return print('No tokens yet. Make one with: taskbridge token create NAME');
        print(table([['ID', 'CLIENT', 'ROLE', 'USED', 'STATE'], ...tokens.map(row)]));
      }),
    );
  token
    .command('revoke')
    .description('End a token at once.')
    .argument('<token-id>')
    .option('--json', 'print JSON')
    .action((id: string, options: { json?: boolean }) =>
      withRecord((record) => {
        record.tokens.revoke(id, localActor);
        if (options.json) printJson({ revoked: id });
        else print(`Revoked ${id}.`);
      }),
    );
}

const row = (info: TokenInfo): string[] => [
  info.id,
  info.clientName,
  info.operator ? 'operator' : 'client',
  info.lastUsedAt === null ? 'never' : ago(info.lastUsedAt),
  info.revokedAt === null ? 'valid' : `revoked ${ago(info.revokedAt)}`,
];
