import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { loadConfig } from '@taskbridge/platform';
import { expect, test } from 'vitest';
import { claimPorts } from './ports.ts';

const config = (env: Record<string, string>) => loadConfig({ TASKBRIDGE_GATEWAY_PORT: '0', TASKBRIDGE_BOARD_PORT: '0', ...env }, '/');

test('a taken port is one sentence that names the setting', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(claimPorts(config({ TASKBRIDGE_BOARD_PORT: String(port) }))).rejects.toThrow(
    `Port ${port} of the board is taken by another program. Stop that one, or set TASKBRIDGE_BOARD_PORT.`,
  );
  server.close();
  await once(server, 'close');
  expect(await claimPorts(config({ TASKBRIDGE_BOARD_PORT: String(port) }))).toMatchObject({ board: port });
});

test('an address that is not of this machine names the host setting', async () => {
  await expect(claimPorts(config({ TASKBRIDGE_GATEWAY_PORT: '47420', TASKBRIDGE_GATEWAY_HOST: '192.0.2.1' }))).rejects.toThrow(
    /^The gateway can't listen on 192\.0\.2\.1: .*Set TASKBRIDGE_GATEWAY_HOST\.$/,
  );
});

test('port 0 becomes a free one', async () => {
  const ports = await claimPorts(config({}));
  expect(ports.gateway).toBeGreaterThan(0);
  expect(ports.board).toBeGreaterThan(0);
});
