/** The names by which a request may call this host. A page that rebinds its DNS name to loopback calls it by another. */
import { isIPv6 } from 'node:net';

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** The bare name in a host, a host with a port, or a whole origin; undefined when there is none. */
export function hostnameOf(value: string): string | undefined {
  const url = value.includes('://') ? value : `http://${isIPv6(value) ? `[${value}]` : value}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** @param listensOn the address a service listens on; one that means "everywhere" is no name */
export function allowedHostnames(listensOn: string, further: readonly string[]): string[] {
  const own = listensOn === '0.0.0.0' || listensOn === '::' ? [] : [listensOn];
  const names = [...own, ...further].map(hostnameOf).filter((name) => name !== undefined);
  return [...new Set([...loopback, ...names])];
}
