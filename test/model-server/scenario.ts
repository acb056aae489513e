/** What the scripted model says: scenarios chosen by a word in the conversation, turns counted from it. */

export interface ToolCall {
  name: string;
  input: Record<string, unknown>;
}

export interface Turn {
  text?: string;
  tools?: ToolCall[];
  delayMs?: number;
  /** Never answers: holds the request until the client leaves. */
  hold?: boolean;
  /** Drops the connection. */
  hangUp?: boolean;
  error?: { status: number; body?: unknown; headers?: Record<string, string> };
  usage?: { input: number; output: number };
}

export interface Scenario {
  /** A text that a message of the user contains. The latest such message counts. */
  when: string;
  /** Turn n answers when the model has spoken n times since that message; the last turn answers whatever comes after. */
  turns: Turn[];
}

/** One message of a conversation, in the terms of neither wire format. */
export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
}

const fallback: Turn = { text: 'I have no script for this.' };

/** The turn that answers a conversation. Derived from the conversation alone, so a repeated request gets the same answer. */
export function chooseTurn(scenarios: readonly Scenario[], messages: readonly Message[]): { turn: Turn; scenario: string | null } {
  for (let i = messages.length - 1; i >= 0; i -= 1) {
    const message = messages[i];
    if (message?.role !== 'user') continue;
    const scenario = scenarios.find((s) => message.text.includes(s.when));
    if (!scenario) continue;
    const spoken = messages.slice(i).filter((m) => m.role === 'assistant').length;
    const turn = scenario.turns[Math.min(spoken, scenario.turns.length - 1)] ?? fallback;
    return { turn: fill(turn, messages), scenario: scenario.when };
  }
  return { turn: fallback, scenario: null };
}

/** Replaces `{{cwd}}` by the agent's directory and `{{last.PATH}}` by a value of the last tool result. */
function fill<T>(value: T, messages: readonly Message[]): T {
  if (typeof value === 'string') return value.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => lookUp(name, messages)) as T;
  if (Array.isArray(value)) return value.map((item) => fill(item, messages)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, messages)])) as T;
}

function lookUp(name: string, messages: readonly Message[]): string {
  const system = messages.filter((m) => m.role === 'system').map((m) => m.text);
  if (name === 'cwd') return /Working directory: (.+)/.exec(system.join('\n'))?.[1]?.trim() ?? '.';
  const last = messages.findLast((m) => m.role === 'tool')?.text ?? '';
  const plain = last.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '').trim();
  let value: unknown;
  try {
    value = JSON.parse(plain);
  } catch {
    return plain;
  }
  for (const key of name.split('.').slice(1)) value = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
