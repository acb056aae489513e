/** A schema as clients see it in the list of tools: every token of it is paid for in each of their conversations. */
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What says nothing to a model that the description does not say. */
const isIdle = (key: string, value: unknown): boolean =>
  key === '$schema' || (key === 'minLength' && value === 1) || (key === 'default' && typeof value === 'object');

/** @param told whether descriptions are kept; left out where another tool has them already */
export function listedSchema(schema: z.ZodObject, told = true): ListedTool['inputSchema'] {
  const json = z.toJSONSchema(schema, { io: 'input' });
  const short = JSON.stringify(json, (key, value: unknown) => {
    const isText = key === 'description' && typeof value === 'string';
    return isIdle(key, value) || (isText && !told) ? undefined : value;
  });
  return JSON.parse(short) as ListedTool['inputSchema'];
}
