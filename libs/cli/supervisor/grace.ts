/** How long a service of this stack may take to stop, in milliseconds: the worker drains, and then saves what it cut off; its own deadline comes just before this. */
import type { Config } from '@taskbridge/platform';

export const graceMs = (config: Config): number => config.drain_ms + 25_000;
