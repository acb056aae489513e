/** All configuration: one schema, read from the environment and an optional taskbridge.config.json. The reference in docs/ is generated from it. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** Every setting: its variable is TASKBRIDGE_ and the key in capitals; in the file it is the key itself. Each default carries its reason in `describe`. */
const port = z.coerce.number().int().min(0).max(65_535);
const milliseconds = z.coerce.number().int().positive();
const list = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  ),
]);

export const configSchema = z.strictObject({
  data_dir: z.string().min(1).default(join(homedir(), '.taskbridge')).describe('Folder of the record, artifacts, mirrors and worktrees.'),
  redis_url: z
    .string()
    .regex(/^(rediss?:\/\/|\/)/, 'must be a redis:// or rediss:// URL or the absolute path of a unix socket')
    .optional()
    .describe('Redis to use. Absent: a private one is started in the data folder.'),
  redis_prefix: z
    .string()
    .regex(/^[\w-]{1,40}$/, 'letters, digits, _ and - only')
    .default('tb')
    .describe('Prefix of all Redis keys; lets several stacks share one Redis.'),
  host_id: z
    .string()
    .regex(/^[\w.-]{1,100}$/, 'letters, digits, _ . - only')
    .optional()
    .describe(
      'Name of this host for projects given by local path. Absent: a random one kept in the data folder, so that a changed hostname does no harm.',
    ),
  gateway_host: z.string().default('127.0.0.1').describe('Address the gateway listens on; loopback unless you mean it.'),
  gateway_port: port.default(7420).describe('Port of the gateway: /mcp, /health, /ready, /metrics.'),
  allowed_hosts: list
    .default([])
    .describe('Further Host header values the gateway and board accept beside loopback, comma-separated (DNS rebinding protection).'),
  allowed_origins: list.default([]).describe('Further Origin header values accepted, comma-separated.'),
  body_limit_bytes: z.coerce
    .number()
    .int()
    .positive()
    .default(8 * 1024 * 1024)
    .describe('Largest request body; room for the largest goal (5 MB) and its JSON.'),
  board_host: z.string().default('127.0.0.1').describe('Address the board listens on.'),
  board_port: port.default(7421).describe('Port of the board.'),
  worker_slots: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Attempts one worker runs at once; each OpenCode needs about 1 GB of memory.'),
  worker_warm: z.coerce
    .number()
    .int()
    .min(0)
    .max(64)
    .default(1)
    .describe('Idle OpenCode servers kept started ahead, at most worker_slots.'),
  look_ahead: z.coerce
    .number()
    .int()
    .min(0)
    .max(100)
    .default(1)
    .describe('Attempts handed to the broker beyond the free slots, so that a freed slot finds work at once.'),
  heartbeat_ms: milliseconds.default(3_000).describe('How often a worker says it is there; it counts as gone after three times this.'),
  lease_ms: milliseconds
    .default(15_000)
    .describe(
      "Lifetime of a job's lock; a worker that can't renew it stops its agent, and a silent one counts as dead once it has run out.",
    ),
  sweep_ms: milliseconds.default(5_000).describe('How often the reaper looks for what events did not tell it.'),
  drain_ms: milliseconds.default(10_000).describe('How long a stopping worker lets attempts finish before it hands them back.'),
  run_minutes: z.coerce.number().positive().max(1_440).default(60).describe('Total time for one attempt when the contract names none.'),
  stall_minutes: z.coerce
    .number()
    .positive()
    .max(1_440)
    .default(10)
    .describe('Time without progress before an attempt ends, when the contract names none.'),
  check_minutes: z.coerce.number().positive().max(1_440).default(15).describe('Time for each setup or check command of a project.'),
  diff_limit_bytes: z.coerce
    .number()
    .int()
    .positive()
    .default(16 * 1024 * 1024)
    .describe('Largest diff kept as an artifact; the whole is always on the task branch.'),
  log_limit_bytes: z.coerce
    .number()
    .int()
    .positive()
    .default(32 * 1024 * 1024)
    .describe('Largest log or transcript kept of one attempt.'),
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, 'must be provider/model')
    .optional()
    .describe('Model the agents use, as provider/model.'),
  model_base_url: z.url().optional().describe('OpenAI-compatible endpoint of that model. Absent: a provider OpenCode knows by itself.'),
  model_api_key: z.string().min(1).optional().describe("Key for the model's provider. Kept by the worker; a secret."),
  model_context_tokens: z.coerce.number().int().positive().default(128_000).describe("The model's context window."),
  model_output_tokens: z.coerce.number().int().positive().default(16_000).describe('Most tokens of one answer.'),
  model_input_price: z.coerce
    .number()
    .nonnegative()
    .optional()
    .describe('USD for a million input tokens; absent: the cost is reported as unknown.'),
  model_output_price: z.coerce.number().nonnegative().optional().describe('USD for a million output tokens.'),
  sandbox: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe('bubblewrap round each agent. auto: when it works here, and the report says so; required: else the attempt fails.'),
  agent_max_age_minutes: z.coerce
    .number()
    .positive()
    .default(120)
    .describe('An OpenCode server older than this is replaced before its next task.'),
  agent_max_memory_mb: z.coerce
    .number()
    .positive()
    .default(2_500)
    .describe('An OpenCode server bigger than this is replaced before its next task.'),
  agent_start_ms: milliseconds.default(60_000).describe('How long an OpenCode server may take to start.'),
  url: z
    .url()
    .optional()
    .describe('Address of the MCP endpoint that the command line talks to. Absent: the gateway of this configuration.'),
  token: z.string().min(1).optional().describe("Bearer token of the command line. Absent: the operator's, from the data folder. A secret."),
  log_format: z.enum(['text', 'json']).default('text').describe('One readable line per event, or JSON. LOG_FORMAT is accepted too.'),
  log_level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Least level that is logged.'),
});

export type Config = z.output<typeof configSchema>;

/** A setting that can't be used; the message names it and says what would be accepted. */
export class ConfigError extends Error {}

/** Names other programs share, accepted beside ours. */
const aliases: Record<string, keyof Config> = { REDIS_URL: 'redis_url', LOG_FORMAT: 'log_format', LOG_LEVEL: 'log_level' };

export const variableOf = (key: string): string => `TASKBRIDGE_${key.toUpperCase()}`;

/**
 * The configuration from `env` and, below it, the file TASKBRIDGE_CONFIG names or ./taskbridge.config.json.
 * @throws ConfigError naming each wrong or unknown setting
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env, cwd: string = process.cwd()): Config {
  const file = resolve(cwd, env['TASKBRIDGE_CONFIG'] ?? 'taskbridge.config.json');
  if (env['TASKBRIDGE_CONFIG'] !== undefined && !existsSync(file))
    throw new ConfigError(`TASKBRIDGE_CONFIG names ${file}, which does not exist.`);
  const values: Record<string, unknown> = existsSync(file) ? readFile(file) : {};
  for (const [alias, key] of Object.entries(aliases)) if (env[alias]) values[key] = env[alias];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('TASKBRIDGE_') || name === 'TASKBRIDGE_CONFIG' || value === undefined || value === '') continue;
    values[name.slice('TASKBRIDGE_'.length).toLowerCase()] = value;
  }
  const parsed = configSchema.safeParse(values);
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map((issue) => explain(issue, file)).join('\n'));
  return { ...parsed.data, data_dir: resolve(cwd, parsed.data.data_dir) };
}

function readFile(file: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch (error) {
    throw new ConfigError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  throw new ConfigError(`${file} must hold one JSON object.`);
}

function explain(issue: z.core.$ZodIssue, file: string): string {
  if (issue.code === 'unrecognized_keys') {
    return `Unknown setting ${issue.keys.map((k) => `${variableOf(k)} (${k} in ${file})`).join(', ')}. See docs/configuration.md.`;
  }
  const key = String(issue.path[0]);
  return `${variableOf(key)} (${key} in ${file}) is not usable: ${issue.message}.`;
}
