/** One conversation with the gateway for one command. */
import { loadConfig } from '@taskbridge/platform';
import { connectGateway, endpointOf, type Gateway } from './gateway-client.ts';

export async function withGateway<T>(work: (gateway: Gateway) => Promise<T>): Promise<T> {
  await using gateway = await connectGateway(endpointOf(loadConfig()));
  return await work(gateway);
}
