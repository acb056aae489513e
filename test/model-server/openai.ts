/** OpenAI's wire format: /v1/chat/completions, streaming and not. */
import type { Message, Turn } from './scenario.ts';

type Content = string | { type: string; text?: string }[] | null | undefined;

export interface OpenAiRequest {
  model: string;
  stream?: boolean;
  tools?: unknown[];
  messages: { role: string; content?: Content; tool_calls?: unknown[] }[];
}

const textOf = (content: Content): string =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n');

export const readOpenAi = (request: OpenAiRequest): Message[] =>
  request.messages.map((m) => ({ role: (m.role === 'developer' ? 'system' : m.role) as Message['role'], text: textOf(m.content) }));

const usageOf = (turn: Turn) => {
  const { input, output } = turn.usage ?? { input: 100, output: 20 };
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
};

const finish = (turn: Turn): string => (turn.tools?.length ? 'tool_calls' : 'stop');
const callId = (id: string, index: number): string => `call_${id}_${index}`;

/** The answer as server-sent events, tool arguments in pieces as a real model sends them. */
export function streamOpenAi(id: string, model: string, turn: Turn): string[] {
  const chunk = (delta: Record<string, unknown>, reason: string | null = null) =>
    sse({ id, object: 'chat.completion.chunk', created: 0, model, choices: [{ index: 0, delta, finish_reason: reason }] });
  const events = [chunk({ role: 'assistant', content: '' })];
  for (const piece of pieces(turn.text ?? '')) events.push(chunk({ content: piece }));
  for (const [index, tool] of (turn.tools ?? []).entries()) {
    events.push(chunk({ tool_calls: [{ index, id: callId(id, index), type: 'function', function: { name: tool.name, arguments: '' } }] }));
    for (const piece of pieces(JSON.stringify(tool.input))) events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
  events.push(chunk({}, finish(turn)));
  events.push(sse({ id, object: 'chat.completion.chunk', created: 0, model, choices: [], usage: usageOf(turn) }));
  return [...events, 'data: [DONE]\n\n'];
}

export const wholeOpenAi = (id: string, model: string, turn: Turn) => ({
  id,
  object: 'chat.completion',
  created: 0,
  model,
  choices: [
    {
      index: 0,
      finish_reason: finish(turn),
      message: {
        role: 'assistant',
        content: turn.text ?? null,
        ...(turn.tools?.length
          ? {
              tool_calls: turn.tools.map((tool, index) => ({
                id: callId(id, index),
                type: 'function',
                function: { name: tool.name, arguments: JSON.stringify(tool.input) },
              })),
            }
          : {}),
      },
    },
  ],
  usage: usageOf(turn),
});

const sse = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

/** Text in two or three parts, never in the middle of a character. */
export function pieces(text: string): string[] {
  const characters = [...text];
  const size = Math.max(1, Math.ceil(characters.length / 3));
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, i) => characters.slice(i * size, (i + 1) * size).join(''));
}
