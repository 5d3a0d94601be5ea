/** Sends requests to the service from which rows are read. */

import { messageOf } from '../../../shared/errors/errors.js';
import { type WholeAnswer, wholeAnswer } from '../../../verifier/index.js';
import { printable } from '../../terminal/line.js';
import { jsonOf, parseExact } from '../json.js';
import { textOf } from '../utf8.js';

const BOUNDS = { withinMs: 60_000, maxBytes: 256 * 1024 * 1024 };
const NOT_FOUND = 404;
const SHOWN_CHARS = 200;

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Options of a source's requests. */
export interface Asking {
  readonly headers: Readonly<Record<string, string>>;
  /** Cancels requests. */
  readonly signal: AbortSignal | undefined;
}

/** GET, or POST of `body` as JSON. Whole numbers of the answer beyond 2^53 are bigints. Throws an Error of one line. */
export async function askService<Answer>(
  url: string,
  { headers, signal }: Asking,
  body?: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const request: RequestInit =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: jsonOf(body) };
  let answer: WholeAnswer;
  try {
    answer = await wholeAnswer(url, request, { ...BOUNDS, signal });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Error(`${url} does not answer: ${messageOf(cause)}`);
  }
  const bytes = Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.length);
  if (!answer.ok)
    throw new Refused(
      answer.status,
      `${url} answers ${answer.status}: ${printable(bytes.toString('utf8').slice(0, SHOWN_CHARS))}`,
    );
  let value: unknown;
  try {
    value = parseExact(textOf(bytes, 'the answer'));
  } catch {
    throw new Error(`the answer of ${url} is not JSON in UTF-8`);
  }
  if (value === null) throw new Error(`${url} answers null`);
  return value as Answer;
}

/** Throws an Error of one line if an answer lacks what the reference of the service promises. */
export function assertAnswer(isAsPromised: boolean, name: string): void {
  if (!isAsPromised) throw new Error(`${name} cannot be read: its service answers in another form than expected`);
}

/** Resolves to the answer. Throws an Error with the text `missing` if the service answers that the thing does not exist. */
export async function namedOrThrow<Answer>(answer: Promise<Answer>, missing: string): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof Refused && error.status === NOT_FOUND ? new Error(missing) : error;
  }
}
