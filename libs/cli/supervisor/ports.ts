/** Asks for the ports of the stack before anything is started, so that a taken one is one clear sentence. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Config, ConfigError, variableOf } from '@taskbridge/platform';

/** @throws ConfigError naming the setting of the first port that can't be used */
export async function claimPorts(config: Config): Promise<void> {
  await claim('gateway', config.gateway_host, config.gateway_port, 'gateway_port', 'gateway_host');
  await claim('board', config.board_host, config.board_port, 'board_port', 'board_host');
}

async function claim(service: string, host: string, port: number, portKey: keyof Config, hostKey: keyof Config): Promise<void> {
  // Port 0 asks for any free one.
  if (port === 0) return;
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`Port ${port} of the ${service} is taken by another program. Stop that one, or set ${variableOf(portKey)}.`);
    if (code === 'EACCES')
      throw new ConfigError(`Port ${port} of the ${service} may not be used by this user. Set ${variableOf(portKey)} to one above 1023.`);
    throw new ConfigError(`The ${service} can't listen on ${host}: ${message}. Set ${variableOf(hostKey)}.`);
  }
  server.close();
  await once(server, 'close');
}
