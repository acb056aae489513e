/** What every process needs and no domain knows: configuration, paths, logging, redaction, service life. Anyone above contract may import it. */
export * from './config.ts';
export * from './host-names.ts';
export * from './log.ts';
export * from './paths.ts';
export * from './redact.ts';
export * from './service.ts';
export * from './version.ts';
