/** The reference of all settings, generated from the schema that reads them. */
import { homedir } from 'node:os';
import { configSchema, variableOf } from '@taskbridge/platform';

export interface Setting {
  key: string;
  variable: string;
  /** As it would be written; null when there is none. */
  default: string | null;
  meaning: string;
}

/** Every setting in the order of the schema. */
export function settings(): Setting[] {
  return Object.entries(configSchema.shape).map(([key, field]) => {
    const { success, data } = field.safeParse(undefined);
    return { key, variable: variableOf(key), default: success ? shown(data) : null, meaning: field.description ?? '' };
  });
}

function shown(value: unknown): string | null {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  // The page is the same whoever writes it.
  return String(value).replace(homedir(), '~');
}

/** docs/configuration.md as it should be. */
export function configReference(): string {
  const rows = settings().map(
    ({ key, variable, default: value, meaning }) =>
      `| \`${key}\` | \`${variable}\` | ${value === null ? '' : `\`${value}\``} | ${escape(meaning)} |`,
  );
  return `# Configuration

<!-- Generated from libs/platform/config.ts by \`npm run taskbridge -- reference --write\`; a test keeps it current. -->

Each setting is read from its environment variable, else from the key in \`taskbridge.config.json\` in the folder the command is started in
(or the file that \`TASKBRIDGE_CONFIG\` names), else it has its default. A value that can't be used, or a setting that does not exist, stops the
start with a sentence that names it. Lists are written with commas in a variable and as an array in the file.

\`REDIS_URL\`, \`LOG_FORMAT\` and \`LOG_LEVEL\` are accepted as well, for the settings of these names.

| key | variable | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`;
}

const escape = (text: string): string => text.replaceAll('|', '\\|');
