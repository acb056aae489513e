/** Turns what an agent does into log lines and activity. */
import type { AgentEvent } from '@taskbridge/agents';
import { noUsage, type Usage } from '@taskbridge/contract';
import type { Attempt } from './attempt.ts';
import { type Clean, firstLine } from './safe-text.ts';

/** Longest activity shown live; a fact holds no more. */
const activityLimit = 200;

/** A listener for one agent's events. */
export function narrate({ log, progress }: Pick<Attempt, 'log' | 'progress'>, clean: Clean): (event: AgentEvent) => void {
  let usage: Usage = noUsage;
  let activity = 'at work';
  const show = (text: string) => {
    activity = firstLine(clean(text), activityLimit) || activity;
    progress.activity(activity, usage);
  };

  return (event) => {
    switch (event.type) {
      case 'text':
        log.write('agent', event.text);
        return show(event.text);
      case 'tool':
        log.write('tool', `${event.tool} ${event.status}: ${event.title}`);
        if (event.output) log.write('tool', event.output);
        return show(`${event.tool}: ${event.title}`);
      case 'command':
        log.write('command', `$ ${event.command.command}  (exit ${event.command.exitCode ?? 'unknown'})`);
        if (event.output) log.write('command', event.output);
        return show(`$ ${event.command.command}`);
      case 'retrying':
        log.write('error', `The model request is tried again (${event.attempt}): ${event.message}`);
        return show(`waiting for the model: ${event.message}`);
      case 'usage':
        usage = event.usage;
        return progress.activity(activity, usage);
      case 'model_call':
        return show('asking the model');
    }
  };
}
