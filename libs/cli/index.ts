/** The taskbridge command. Nobody imports it but its own entry and the tests: it stands above everything else. */
export { createProgram } from './program.ts';
