/** taskbridge list, show, cancel: tasks as the gateway tells them. */
import { taskStates } from '@taskbridge/contract';
import { type Command, Option } from 'commander';
import { ago, colorState, print, printJson, table } from '../output.ts';
import { describeTask } from '../task-view.ts';
import { withGateway } from '../with-gateway.ts';
import { number } from './submit.ts';

interface ListOptions {
  project?: string;
  state?: string[];
  tag?: string;
  client?: string;
  limit?: number;
  cursor?: string;
  json?: boolean;
}

export function addTaskCommands(program: Command): void {
  program
    .command('list')
    .description('Show tasks, newest first.')
    .option('-p, --project <name>', 'only of this project')
    .addOption(new Option('-s, --state <state...>', 'only in these states').choices(taskStates))
    .option('--tag <tag>', 'only with this tag')
    .option('--client <name>', 'only of this client')
    .option('--limit <n>', 'how many at most', number)
    .option('--cursor <text>', 'go on where a list before ended')
    .option('--json', 'print JSON')
    .action((options: ListOptions) =>
      withGateway(async (gateway) => {
        const { json, ...filter } = options;
        const page = await gateway.tasks(filter);
        if (json) return printJson(page);
        if (page.tasks.length === 0) return print('No tasks.');
        const rows = page.tasks.map((task) => [task.id, task.state, task.project, ago(task.submittedAt), task.title]);
        const text = table([['ID', 'STATE', 'PROJECT', 'SUBMITTED', 'TITLE'], ...rows]);
        print(text);
        if (page.next) print(`More: taskbridge list --cursor ${page.next}`);
      }),
    );
  program
    .command('show')
    .description('Show a task with its evidence.')
    .argument('<task-id>')
    .option('--json', 'print JSON')
    .action((id: string, options: { json?: boolean }) =>
      withGateway(async (gateway) => {
        const task = await gateway.task(id);
        if (options.json) printJson(task);
        else print(describeTask(task));
      }),
    );
  program
    .command('cancel')
    .description('Cancel tasks. What has not started ends at once; a running agent is stopped, and its work is kept on a ref.')
    .argument('<task-id...>')
    .option('--reason <text>', 'why, for the record', 'cancelled from the command line')
    .option('--json', 'print JSON')
    .action((ids: string[], options: { reason: string; json?: boolean }) =>
      withGateway(async (gateway) => {
        const tasks = await gateway.cancel(ids, options.reason);
        if (options.json) return printJson({ tasks });
        for (const task of tasks) print(`${task.id} ${task.cancelling ? 'is being stopped' : `is ${colorState(task.state)}`}`);
      }),
    );
}
