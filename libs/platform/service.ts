/** The life of a service process: configuration, log, readiness to its supervisor, shutdown with a deadline. */
import { type Config, ConfigError, loadConfig } from './config.ts';
import { createLog, type Log } from './log.ts';

export interface Running {
  /** Where it listens, for those that do: `http://host:port`. */
  url?: string;
  /** Ends cleanly. Given `stopMs` at most; then the process exits all the same. */
  stop(): Promise<void>;
}

/** Exit code for a wrong configuration (sysexits EX_CONFIG): a supervisor does not restart after it. */
export const exitConfig = 78;

/** What a service tells its supervisor over IPC once it serves. */
export interface ReadyMessage {
  type: 'ready';
  service: string;
  url?: string;
}

/**
 * Runs a service until SIGTERM, SIGINT or the loss of its supervisor.
 * @param stopMs longest time a clean stop may take, in milliseconds
 */
export async function runService(
  name: string,
  start: (config: Config, log: Log) => Promise<Running>,
  stopMs: (config: Config) => number = () => 8_000,
): Promise<void> {
  let config: Config;
  try {
    config = loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(exitConfig);
  }
  const log = createLog(name, config);
  process.on('uncaughtException', (err) => {
    log.error({ err }, 'uncaught error, the service ends');
    process.exit(1);
  });

  let running: Running | undefined;
  let stopping = false;
  const stop = async (why: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'stopping');
    const deadline = setTimeout(() => {
      log.warn('did not stop in time, exiting');
      process.exit(1);
    }, stopMs(config));
    deadline.unref();
    await running?.stop();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  // A supervisor that died without a word (kill -9) must not leave its services behind.
  if (process.send) process.on('disconnect', () => void stop('supervisor gone'));

  running = await start(config, log);
  log.info(running.url ? { url: running.url } : {}, 'ready');
  process.send?.({ type: 'ready', service: name, ...(running.url ? { url: running.url } : {}) } satisfies ReadyMessage);
}
