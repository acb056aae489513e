/** Reads OpenCode's event stream for one session and tells it in the words of the face. */
import type { Event, Part } from '@opencode-ai/sdk/v2/client';
import { commandOf, type SessionMessage, usageOf } from './session-facts.ts';
import type { AgentEvent } from './types.ts';

export interface EventReader {
  /** @returns true when the event shows progress */
  read(event: Event): boolean;
  /** True once the session has come to rest after it worked. */
  ended(): boolean;
  /** What the agent asked for and can't get, when it did. */
  refused(): string | undefined;
}

export function createEventReader(sessionId: string, priced: boolean, tell: (event: AgentEvent) => void): EventReader {
  /** The newest state of each part, so that one that is sent often is told once. */
  const told = new Map<string, string>();
  const finished: Part[] = [];
  let worked = false;
  let rest = false;
  let refused: string | undefined;

  const once = (part: Part, state: string): boolean => {
    if (told.get(part.id) === state) return false;
    told.set(part.id, state);
    return true;
  };

  const readPart = (part: Part): void => {
    if (part.type === 'text' && part.time?.end !== undefined && !part.synthetic && once(part, 'done'))
      tell({ type: 'text', text: part.text });
    if (part.type === 'step-finish' && once(part, 'done')) {
      finished.push(part);
      tell({ type: 'usage', usage: usageOf([{ parts: finished } as SessionMessage], priced) });
    }
    if (part.type !== 'tool' || part.state.status === 'pending' || !once(part, part.state.status)) return;
    const { state, tool } = part;
    const output = state.status === 'completed' ? state.output : state.status === 'error' ? state.error : '';
    const command = commandOf(part);
    if (command) tell({ type: 'command', command, output });
    else tell({ type: 'tool', tool, title: titleOf(part), status: state.status, output });
  };

  return {
    read: (event) => {
      if (!('sessionID' in event.properties) || event.properties.sessionID !== sessionId) return false;
      switch (event.type) {
        case 'message.part.updated':
          readPart(event.properties.part);
          return true;
        case 'message.part.delta':
          return true;
        case 'session.status': {
          const { status } = event.properties;
          if (status.type === 'busy') worked = true;
          if (status.type === 'retry') tell({ type: 'retrying', message: status.message, attempt: status.attempt });
          if (status.type === 'idle') rest = worked;
          return false;
        }
        case 'session.idle':
          rest = worked;
          return false;
        case 'permission.asked':
          refused = `The agent asked for ${event.properties.permission} on ${event.properties.patterns.join(', ')}.`;
          return false;
        case 'question.asked':
          refused = `The agent asked: ${event.properties.questions.map((q) => q.question).join(' ')}`;
          return false;
        default:
          return false;
      }
    },
    ended: () => rest,
    refused: () => refused,
  };
}

function titleOf(part: Part & { type: 'tool' }): string {
  const { state } = part;
  const title = 'title' in state ? state.title : undefined;
  const path = state.input['filePath'] ?? state.input['path'] ?? state.input['pattern'] ?? state.input['command'];
  return title || (typeof path === 'string' ? path : '');
}
