/** list_projects: what a task may name. */
import { redact } from '@taskbridge/platform';
import { z } from 'zod';
import { defineTool, reads } from './tool.ts';

export const listProjects = defineTool({
  name: 'list_projects',
  title: 'List projects',
  description: 'The repositories a task may name, with base branch, setup and checks.',
  hints: reads,
  input: z.strictObject({}),
  run: (_input, _call, { record }) => ({
    projects: record.projects.list().map((project) => ({ ...project, source: redact(project.source) })),
  }),
});
