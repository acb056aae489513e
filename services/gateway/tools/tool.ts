/** What a tool is: its listing for clients and its run. Input is parsed here, so that a run only ever sees what its schema allows. */
import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Broker } from '@taskbridge/broker';
import type { Dispatcher } from '@taskbridge/dispatch';
import type { Principal, TaskRecord } from '@taskbridge/record';
import { z } from 'zod';
import type { TaskWatch } from '../task-watch.ts';
import { refuseInput } from './input-error.ts';
import { listedSchema } from './listed-schema.ts';

/** What tools work with. */
export interface Kit {
  record: TaskRecord;
  broker: Pick<Broker, 'readLog'>;
  dispatcher: Pick<Dispatcher, 'wake'>;
  watch: TaskWatch;
  /** Aborted when the gateway stops: whoever waits answers. */
  stopping: AbortSignal;
}

/** One call: who makes it, and how it may be answered meanwhile. */
export interface Call {
  by: Principal;
  /** The client program, as it names itself. */
  client: string | undefined;
  /** The model's own id of this use of the tool: the same when the client sends it again. */
  toolUseId: string | undefined;
  /** Aborted when the client ends the call or goes away. */
  signal: AbortSignal;
  /** Present when the client asked for progress. `done` must rise from one to the next. */
  progress: ((done: number, total: number, message: string) => void) | undefined;
}

export type Answer = Record<string, unknown>;

export interface Tool {
  readonly name: string;
  readonly listed: ListedTool;
  /** @throws ApiError */
  run(input: unknown, call: Call, kit: Kit): Promise<Answer>;
}

interface ToolSpec<S extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  hints: { readOnly: boolean; destructive: boolean; idempotent: boolean; openWorld: boolean };
  /** Whether a client that loads tools on demand has this one from the start. */
  alwaysLoad?: boolean;
  input: S;
  /** The listed schema, where it is told shorter than `input` says it. */
  listedInput?: ListedTool['inputSchema'];
  run(input: z.output<S>, call: Call, kit: Kit): Promise<Answer> | Answer;
}

/** Hints of a tool that only reads the record. */
export const reads = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

/** Loose: a field that is added later never makes a client refuse a result. */
const outputSchema: NonNullable<ListedTool['outputSchema']> = { type: 'object', additionalProperties: true };

export const taskIdSchema = z.string().trim().min(1).max(64);

export function defineTool<S extends z.ZodObject>(spec: ToolSpec<S>): Tool {
  const { name, title, description, hints } = spec;
  return {
    name,
    listed: {
      name,
      title,
      description,
      inputSchema: spec.listedInput ?? listedSchema(spec.input),
      outputSchema,
      annotations: {
        title,
        readOnlyHint: hints.readOnly,
        destructiveHint: hints.destructive,
        idempotentHint: hints.idempotent,
        openWorldHint: hints.openWorld,
      },
      ...(spec.alwaysLoad ? { _meta: { 'anthropic/alwaysLoad': true } } : {}),
    },
    async run(input, call, kit) {
      const parsed = spec.input.safeParse(input ?? {});
      if (!parsed.success) throw refuseInput(parsed.error, spec.input);
      return spec.run(parsed.data, call, kit);
    },
  };
}
