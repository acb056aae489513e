/** Settles the ports of the stack before anything is started: a taken one is one clear sentence, and a restarted service keeps its own. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type Config, ConfigError, variableOf } from '@taskbridge/platform';

/** The ports of the gateway and the board; where 0 was asked for, a free one. @throws ConfigError naming the setting that can't be used */
export async function claimPorts(config: Config): Promise<{ gateway: number; board: number }> {
  return {
    gateway: await claim('gateway', config.gateway_host, config.gateway_port, 'gateway_port', 'gateway_host'),
    board: await claim('board', config.board_host, config.board_port, 'board_port', 'board_host'),
  };
}

async function claim(service: string, host: string, port: number, portKey: keyof Config, hostKey: keyof Config): Promise<number> {
  try {
    return await freePort(host, port);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new ConfigError(`Port ${port} of the ${service} is taken by another program. Stop that one, or set ${variableOf(portKey)}.`);
    if (code === 'EACCES')
      throw new ConfigError(`Port ${port} of the ${service} may not be used by this user. Set ${variableOf(portKey)} to one above 1023.`);
    throw new ConfigError(`The ${service} can't listen on ${host}: ${message}. Set ${variableOf(hostKey)}.`);
  }
}

/** The port when it can be listened on; any free one for 0. Rejects with the system's error. */
export async function freePort(host: string, port = 0): Promise<number> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const free = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  return free;
}
