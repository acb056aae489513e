/** The practice model of the demo: a script that says so, not an AI. */
import type { Scenario } from './scenario.ts';

const label = '(practice model: a script, not an AI)';

/** The demo's task, done as a model would: look, write, test, say what was done. */
const demo: Scenario = {
  when: 'Practice task: greet in Spanish',
  turns: [
    {
      text: `${label} I will look at the files first.`,
      tools: [{ name: 'bash', input: { command: 'ls && cat greet.mjs test.mjs', description: 'Look at the files' } }],
    },
    {
      tools: [
        {
          name: 'write',
          input: {
            filePath: '{{cwd}}/greet-spanish.mjs',
            content: '/** A greeting for a name, in Spanish. */\nexport function greetSpanish(name) {\n  return `¡Hola, ${name}!`;\n}\n',
          },
        },
      ],
    },
    {
      tools: [
        {
          name: 'bash',
          input: {
            command:
              "printf '%s\\n' \"import assert from 'node:assert/strict';\" \"import { greet } from './greet.mjs';\" \"import { greetSpanish } from './greet-spanish.mjs';\" '' \"assert.equal(greet('Ada'), 'Hello, Ada!');\" \"assert.equal(greetSpanish('Ada'), '¡Hola, Ada!');\" \"console.log('ok');\" > test.mjs",
            description: 'Add the check to the test',
          },
        },
      ],
    },
    { tools: [{ name: 'bash', input: { command: 'node test.mjs', description: 'Run the tests' } }] },
    { text: `${label} Added greetSpanish(name) in greet-spanish.mjs and a check of it in test.mjs; node test.mjs exits with 0.` },
  ],
};

/** Any other task: a note that the practice model was here, so that the handoff can be seen with any goal. */
const anything: Scenario = {
  when: '',
  turns: [
    {
      text: `${label} I can't do this task, I only practise the handoff: I will leave a note.`,
      tools: [
        {
          name: 'write',
          input: {
            filePath: '{{cwd}}/PRACTICE-NOTE.md',
            content: `# Practice note\n\nWritten by the practice model, which is a script and not an AI.\nName a real model to have the task done.\n`,
          },
        },
      ],
    },
    { text: `${label} Left PRACTICE-NOTE.md. Name a real model (TASKBRIDGE_MODEL) to have the task done.` },
  ],
};

export const practiceScenarios: Scenario[] = [demo, anything];
