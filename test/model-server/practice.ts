/** The practice model of the demo: a script that says so, not an AI. */
import type { Scenario } from './scenario.ts';

const label = '(practice model: a script, not an AI)';

/** The demo's task, done as a model would: look, write, test, say what was done. */
const demo: Scenario = {
  when: 'Practice task: greet in Spanish',
  turns: [
    {
      text: `${label} I will look at the files first.`,
      tools: [
        { name: 'read', input: { filePath: '{{cwd}}/greet.mjs' } },
        { name: 'read', input: { filePath: '{{cwd}}/test.mjs' } },
      ],
    },
    {
      tools: [
        {
          name: 'edit',
          input: {
            filePath: '{{cwd}}/greet.mjs',
            oldString: '  return `Hello, ${name}!`;\n}\n',
            newString:
              '  return `Hello, ${name}!`;\n}\n\n/** A greeting for a name, in Spanish. */\nexport function greetSpanish(name) {\n  return `¡Hola, ${name}!`;\n}\n',
          },
        },
        {
          name: 'edit',
          input: {
            filePath: '{{cwd}}/test.mjs',
            oldString: "import { greet } from './greet.mjs';\n\nassert.equal(greet('Ada'), 'Hello, Ada!');\n",
            newString:
              "import { greet, greetSpanish } from './greet.mjs';\n\nassert.equal(greet('Ada'), 'Hello, Ada!');\nassert.equal(greetSpanish('Ada'), '¡Hola, Ada!');\n",
          },
        },
      ],
    },
    { tools: [{ name: 'bash', input: { command: 'node test.mjs', description: 'Run the tests' } }] },
    { text: `${label} Added greetSpanish(name) to greet.mjs and a check of it to test.mjs; node test.mjs exits with 0.` },
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
