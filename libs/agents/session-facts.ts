/** What a session's messages prove: usage, commands with exit codes, last words. Pure. */
import type { Message, Part } from '@opencode-ai/sdk/v2/client';
import { type Command, noUsage, type Usage } from '@taskbridge/contract';

export interface SessionMessage {
  info: Message;
  parts: Part[];
}

const testCommand =
  /\b(tests?|spec|check|vitest|jest|mocha|ava|playwright|pytest|unittest|tox|nox|rspec|minitest|phpunit|ctest|cargo\s+(test|nextest)|go\s+test|dotnet\s+test|mvn|gradlew?|make\s+check)\b/i;

/** The command of a finished call of the shell tool, or undefined for any other part. */
export function commandOf(part: Part): Command | undefined {
  if (part.type !== 'tool' || part.tool !== 'bash') return undefined;
  const { state } = part;
  if (state.status !== 'completed' && state.status !== 'error') return undefined;
  const exit = state.metadata?.['exit'];
  const command = String(state.input['command'] ?? '');
  return {
    command,
    exitCode: typeof exit === 'number' ? exit : null,
    durationMs: Math.max(0, state.time.end - state.time.start),
    isTest: testCommand.test(command),
  };
}

export const commandsOf = (messages: readonly SessionMessage[]): Command[] =>
  messages.flatMap(({ parts }) => parts.map(commandOf).filter((command) => command !== undefined));

/** Tokens and cost of all steps together. @param priced whether the agent knows the model's prices */
export function usageOf(messages: readonly SessionMessage[], priced: boolean): Usage {
  const usage: Usage = { ...noUsage };
  for (const part of messages.flatMap((message) => message.parts)) {
    if (part.type !== 'step-finish') continue;
    usage.inputTokens += part.tokens.input;
    usage.outputTokens += part.tokens.output;
    usage.reasoningTokens += part.tokens.reasoning;
    usage.cacheReadTokens += part.tokens.cache.read;
    usage.cacheWriteTokens += part.tokens.cache.write;
    usage.costUsd += part.cost;
    usage.modelCalls += 1;
  }
  usage.costKnown = priced || usage.costUsd > 0;
  return usage;
}

/** The text of the last message in which the agent said something. */
export function lastWordsOf(messages: readonly SessionMessage[]): string {
  for (const { info, parts } of messages.toReversed()) {
    if (info.role !== 'assistant') continue;
    const text = parts
      .filter((part) => part.type === 'text' && !part.synthetic && !part.ignored)
      .map((part) => (part as { text: string }).text)
      .join('\n')
      .trim();
    if (text !== '') return text;
  }
  return '';
}

/** The newest answer of the agent. */
export const lastAnswer = (messages: readonly SessionMessage[]) => {
  const info = messages.at(-1)?.info;
  return info?.role === 'assistant' ? info : undefined;
};
