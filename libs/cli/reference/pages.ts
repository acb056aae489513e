/** The pages of the documentation that are generated. */
import { fileURLToPath } from 'node:url';
import { configReference } from './configuration.ts';
import { failuresReference } from './failures.ts';
import { statesReference } from './states.ts';

const docs = (name: string): string => fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));

export const pages: { file: string; content(): string }[] = [
  { file: docs('configuration.md'), content: configReference },
  { file: docs('states.md'), content: statesReference },
  { file: docs('failure-reasons.md'), content: failuresReference },
];
