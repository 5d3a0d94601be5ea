/** What a tool is, and what it answers: JSON, of bounded size, and errors with the code of the service. */
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { messageOf } from '../../shared/errors/errors.js';
import { Refused, type ServiceClient } from '../service/serviceClient.js';

/** About 25,000 tokens: clients cut off what is longer, or refuse it. */
const ANSWER_CHARS_MAX = 100_000;

export interface Tool<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the model, which reads nothing else about the tool than this and its fields. */
  readonly description: string;
  readonly input: Input;
  /** What it does to the service. */
  readonly effect: 'reads' | 'adds' | 'destroys';
  run(client: ServiceClient, given: z.output<Input>): Promise<unknown>;
}

/** Adds a tool to a server. */
export type Registration = (server: McpServer, client: ServiceClient) => void;

export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Registration {
  const { name, title, description, input, effect } = tool;
  const annotations = {
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'destroys',
    idempotentHint: effect !== 'adds',
    openWorldHint: false,
  };
  return (server, client) => {
    const config = { title, description, inputSchema: input, annotations };
    const answer = (given: unknown): Promise<CallToolResult> =>
      answerOf(() => tool.run(client, given as z.output<Input>));
    server.registerTool<z.ZodObject, z.ZodObject>(name, config, answer);
  };
}

async function answerOf(work: () => Promise<unknown>): Promise<CallToolResult> {
  try {
    const text = JSON.stringify(await work());
    if (text.length <= ANSWER_CHARS_MAX) return { content: [{ type: 'text', text }] };
    const asked = `the answer has ${text.length} characters, at most ${ANSWER_CHARS_MAX} fit: ask for fewer records or fields`;
    return failure('answer_too_large', asked);
  } catch (error) {
    return failure((error instanceof Refused ? error.code : undefined) ?? codeOf(error), messageOf(error));
  }
}

/** The code where the service gives none: it gives none to what is over the rate limit. */
const codeOf = (error: unknown): string => {
  if (error instanceof Refused) return error.status === 429 ? 'rate_limited' : `http_${error.status}`;
  return error instanceof Misused ? 'validation_error' : 'unavailable';
};

/** Arguments that do not go together. */
export class Misused extends Error {}

const failure = (code: string, error: string): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ error, code }) }],
  isError: true,
});

/** The path with what is given of the parameters; objects as JSON. */
export function pathWith(path: string, parameters: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}
