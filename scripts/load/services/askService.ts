/** Requests to the service that rows are read from. */
import { messageOf } from '../../../shared/errors/errors.js';
import { type WholeAnswer, wholeAnswer } from '../../../verifier/index.js';
import { printable } from '../../verify/print.js';

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

/** GET, or POST of `body` as JSON. Throws an Error of one line. */
export async function askService<Answer>(
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answer> {
  const request: RequestInit =
    body === undefined
      ? { headers }
      : { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  let answer: WholeAnswer;
  try {
    answer = await wholeAnswer(url, request, BOUNDS);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Error(`${url} does not answer: ${messageOf(cause)}`);
  }
  const text = new TextDecoder().decode(answer.bytes);
  if (!answer.ok)
    throw new Refused(answer.status, `${url} answers ${answer.status}: ${printable(text.slice(0, SHOWN_CHARS))}`);
  try {
    return JSON.parse(text) as Answer;
  } catch {
    throw new Error(`${url} answers something else than JSON`);
  }
}

/** Says `missing` where what is asked for is not there. */
export async function namedOrThrow<Answer>(answer: Promise<Answer>, missing: string): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof Refused && error.status === NOT_FOUND ? new Error(missing) : error;
  }
}
