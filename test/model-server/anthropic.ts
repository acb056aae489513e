/** Anthropic's wire format: /v1/messages, streaming and not. */
import { pieces } from './openai.ts';
import type { Message, Turn } from './scenario.ts';

type Block = { type: string; text?: string; content?: string | Block[] };

export interface AnthropicRequest {
  model: string;
  stream?: boolean;
  tools?: unknown[];
  system?: string | Block[];
  messages: { role: 'user' | 'assistant'; content: string | Block[] }[];
}

const blocks = (content: string | Block[] | undefined): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
const textOf = (content: string | Block[] | undefined): string =>
  blocks(content)
    .map((block) => block.text ?? '')
    .join('\n');

/** Tool results, which stand in messages of the user here, become messages of their own. */
export function readAnthropic(request: AnthropicRequest): Message[] {
  const messages: Message[] = [{ role: 'system', text: textOf(request.system) }];
  for (const { role, content } of request.messages) {
    const results = blocks(content).filter((block) => block.type === 'tool_result');
    for (const result of results) messages.push({ role: 'tool', text: textOf(result.content) });
    if (role === 'assistant' || results.length === 0) messages.push({ role, text: textOf(content) });
  }
  return messages;
}

const usageOf = (turn: Turn) => ({ input_tokens: turn.usage?.input ?? 100, output_tokens: turn.usage?.output ?? 20 });
const stopReason = (turn: Turn): string => (turn.tools?.length ? 'tool_use' : 'end_turn');

export function streamAnthropic(id: string, model: string, turn: Turn): string[] {
  const events: string[] = [];
  const send = (type: string, data: Record<string, unknown>) =>
    events.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf(turn),
  };
  send('message_start', { message });
  let index = 0;
  if (turn.text || !turn.tools?.length) {
    send('content_block_start', { index, content_block: { type: 'text', text: '' } });
    for (const piece of pieces(turn.text ?? '')) send('content_block_delta', { index, delta: { type: 'text_delta', text: piece } });
    send('content_block_stop', { index });
    index += 1;
  }
  for (const tool of turn.tools ?? []) {
    send('content_block_start', { index, content_block: { type: 'tool_use', id: `toolu_${id}_${index}`, name: tool.name, input: {} } });
    for (const piece of pieces(JSON.stringify(tool.input))) {
      send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: piece } });
    }
    send('content_block_stop', { index });
    index += 1;
  }
  send('message_delta', {
    delta: { stop_reason: stopReason(turn), stop_sequence: null },
    usage: { output_tokens: usageOf(turn).output_tokens },
  });
  send('message_stop', {});
  return events;
}

export const wholeAnthropic = (id: string, model: string, turn: Turn) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content: [
    ...(turn.text ? [{ type: 'text', text: turn.text }] : []),
    ...(turn.tools ?? []).map((tool, index) => ({ type: 'tool_use', id: `toolu_${id}_${index}`, name: tool.name, input: tool.input })),
  ],
  stop_reason: stopReason(turn),
  stop_sequence: null,
  usage: usageOf(turn),
});
