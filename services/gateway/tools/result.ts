/** How a tool answers: the same JSON as structured content and as text, for clients that read only one of them. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiError } from '@taskbridge/contract';
import type { Answer } from './tool.ts';

const result = (answer: Answer): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }],
  structuredContent: answer,
});

export const success = (answer: Answer): CallToolResult => result(answer);

/** A refusal the model can act on. Nothing was changed. */
export function refusal({ code, message, field, fix }: ApiError): CallToolResult {
  return { ...result({ error: { code, message, ...(field ? { field } : {}), ...(fix ? { fix } : {}) } }), isError: true };
}
