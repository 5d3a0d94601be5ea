/** Definition of a tool. It answers JSON of bounded size, and errors that say what to do next. */
import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { systemClock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import { FairSemaphore } from '../../shared/scheduling/fairSemaphore.js';
import { AnswerTooLong } from '../../verifier/index.js';
import { Refused, type ServiceClient } from '../service/serviceClient.js';
import { ANSWER_BYTES_MAX, fitted, type Listing } from './fitted.js';
import { argumentsOf, Misused, type Schema, schemaOf, withoutNulls } from './schema.js';
import { pieceOf } from './size.js';

export { Misused };

export interface Tool<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the model, which reads only this and the fields. */
  readonly description: string;
  readonly input: Input;
  /** The answer; a field that is null in the API is absent. */
  readonly output: z.ZodRawShape;
  /** Undefined if the answer always fits. */
  readonly listing?: Listing;
  /** Its effect on the service. */
  readonly effect: 'reads' | 'adds' | 'destroys';
  /** Fields in the API's messages, each with the tool's argument that replaces it. */
  readonly renames?: readonly (readonly [field: RegExp, argument: string])[];
  run(client: ServiceClient, given: z.output<Input>): Promise<object>;
}

/** Adds a tool to a server. */
export type Registration = (server: McpServer, client: ServiceClient) => void;

/** Largest number of concurrent calls of one client: each may have a large answer in memory. Others wait in their order. */
const CALLS_AT_ONCE = 4;
const CALL = { id: 0, project: '' };
const calls = new FairSemaphore({ atOnce: CALLS_AT_ONCE }, systemClock);

const LEFT_OUT = z.string().optional().describe('What does not fit into the answer, and how to get it.');

export function defineTool<Input extends z.ZodObject>(tool: Tool<Input>): Registration {
  const { name, title, description, effect, listing } = tool;
  const annotations = {
    readOnlyHint: effect === 'reads',
    destructiveHint: effect === 'destroys',
    idempotentHint: effect !== 'adds',
    openWorldHint: false,
  };
  const input = schemaOf(tool.input, 'input');
  const output = schemaOf(z.object({ ...tool.output, ...(listing && { left_out: LEFT_OUT }) }), 'output');
  const config = { title, description, inputSchema: announced(input), outputSchema: announced(output), annotations };
  return (server, client) =>
    server.registerTool(name, config, async (given: unknown) => {
      try {
        const asked = argumentsOf(name, tool.input, input, given);
        const answer = await calls.run(CALL, () => tool.run(client, asked));
        const bounded = fitted(withoutNulls(output, answer) as Readonly<Record<string, unknown>>, listing);
        return bounded === undefined ? failure(TOO_LARGE) : success(bounded);
      } catch (error) {
        return failure(problemOf(error, tool.renames));
      }
    });
}

/** A schema in the package's form. It checks nothing, since its messages would differ from the other errors. */
function announced(schema: Schema): StandardSchemaWithJSON {
  const json = (): Record<string, unknown> => ({ ...schema });
  const validate = (value: unknown) => ({ value });
  return { '~standard': { version: 1, vendor: 'vouch', validate, jsonSchema: { input: json, output: json } } };
}

const success = (answer: Readonly<Record<string, unknown>>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }],
  structuredContent: answer,
});

interface Problem {
  readonly error: string;
  readonly code: string;
}

const TOO_LARGE: Problem = { error: `the answer has more than ${ANSWER_BYTES_MAX} bytes`, code: 'answer_too_large' };

const ERROR_BYTES_MAX = 2_000;

/** The next step of the caller, by the code of the error. */
const NEXT: Readonly<Record<string, string>> = {
  validation_error: 'Change what the error names, and call the tool again.',
  dimension_mismatch:
    'Give a vector with as many numbers as the dimension that list_collections gives for the collection.',
  unauthorized:
    'Tell the person that the API key of this MCP server (VOUCH_KEY or --key) is not valid for the service.',
  forbidden:
    'Tell the person that this tool needs an API key of another scope: admin for access_log, read_write for tools that write.',
  collection_not_found: 'Call list_collections for the names of the collections.',
  record_not_found: 'Call list_records or search for the ids of records.',
  conflict: 'Read the record again, and decide again.',
  rate_limited: 'Wait a minute, then call the tool again.',
  unavailable: 'Call the tool again later. If it fails again, tell the person that the service does not answer.',
  capacity_exceeded: 'Tell the person that the service is full: nothing more can be inserted.',
  payload_too_large: 'Give fewer or smaller records at a time.',
  answer_too_large: 'Ask for fewer records or fields.',
};
const NEXT_OTHERWISE = 'Tell the person what the error says.';

function failure({ error, code }: Problem): CallToolResult {
  const short = pieceOf(error, 0, ERROR_BYTES_MAX);
  const text = JSON.stringify({ error: short, code, next: NEXT[code] ?? NEXT_OTHERWISE });
  return { content: [{ type: 'text', text }], isError: true };
}

function problemOf(error: unknown, renames: Tool<z.ZodObject>['renames'] = []): Problem {
  if (error instanceof AnswerTooLong) return TOO_LARGE;
  const code = codeOf(error);
  const message = messageOf(error);
  if (!(error instanceof Refused)) return { error: message, code };
  // The path of a field in the body: `$.values[3]`.
  const renamed = [...renames, [/\$\.(?=\w)/g, ''] as const];
  return { error: renamed.reduce((text, [field, argument]) => text.replace(field, argument), message), code };
}

/** The code of an error. The service gives none for an exceeded rate limit. */
function codeOf(error: unknown): string {
  if (error instanceof Misused) return error.code;
  if (!(error instanceof Refused)) return 'unavailable';
  return error.code ?? (error.status === 429 ? 'rate_limited' : `http_${error.status}`);
}

/** The path with the given parameters; objects as JSON. */
export function pathWith(path: string, parameters: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}
