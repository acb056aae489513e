/** Every tool, in the order clients list them. */
import { cancelTasks } from './cancel-tasks.ts';
import { getDiff } from './get-diff.ts';
import { getLogs } from './get-logs.ts';
import { getTask } from './get-task.ts';
import { listProjects } from './list-projects.ts';
import { listTasks } from './list-tasks.ts';
import { submitBatch } from './submit-batch.ts';
import { submitTask } from './submit-task.ts';
import type { Tool } from './tool.ts';
import { waitTasks } from './wait-tasks.ts';

export const tools: readonly Tool[] = [submitTask, submitBatch, waitTasks, getTask, listTasks, getDiff, getLogs, cancelTasks, listProjects];
