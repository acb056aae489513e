/** Where a running stack listens, kept in the data folder: commands find it also when a port was chosen freely. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { type Config, paths } from '@taskbridge/platform';
import { writePrivateFile } from '../private-file.ts';

export interface Addresses {
  pid: number;
  mcpUrl: string;
  boardUrl: string;
}

export const writeAddresses = (config: Config, addresses: Addresses): void =>
  writePrivateFile(paths(config).addresses, `${JSON.stringify(addresses, null, 2)}\n`);

export const removeAddresses = (config: Config): void => rmSync(paths(config).addresses, { force: true });

/** The addresses of the stack on this data folder; undefined when none was started. It may have been killed since. */
export function readAddresses(config: Config): Addresses | undefined {
  const file = paths(config).addresses;
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Addresses) : undefined;
}
