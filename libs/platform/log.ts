/** Logging: one readable line per event on standard output, or JSON. Secrets are redacted before a line is written. */
import { pino } from 'pino';
import type { Config } from './config.ts';
import { redact } from './redact.ts';

export type Log = pino.Logger;

const clock = (at: number) => new Date(at).toISOString().slice(11, 23);

/** A value as it stands in a readable line: bare when it is simple, JSON otherwise. */
function field([key, value]: [string, unknown]): string {
  if (key === 'err' && typeof value === 'object' && value !== null) {
    const error = value as { message?: string; stack?: string };
    return `error=${JSON.stringify(error.message ?? '')}`;
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `${key}=${typeof value === 'string' && /[\s"=]/.test(text) ? JSON.stringify(text) : text}`;
}

/** Turns pino's JSON line into a readable one. */
function readable(line: string): string {
  const { level, time, service, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(field).join(' ');
  return `${clock(Number(time))} ${String(level).padEnd(5)} ${String(service).padEnd(8)} ${String(msg ?? '')}${fields ? `  ${fields}` : ''}\n`;
}

/** A logger for a service. Secrets known to the configuration and known token shapes never reach the output. */
export function createLog(service: string, config: Pick<Config, 'log_format' | 'log_level'> & Partial<Config>): Log {
  const secrets = [config.model_api_key, config.token].filter((s): s is string => Boolean(s));
  const write = (line: string) => {
    const safe = redact(line, secrets);
    process.stdout.write(config.log_format === 'json' ? safe : readable(safe));
  };
  return pino(
    {
      level: config.log_level,
      base: { service },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":${Date.now()}`,
    },
    { write },
  );
}
