/** Requests to the service that rows are read from. */
import { messageOf } from '../../../shared/errors/errors.js';
import { printable } from '../../verify/print.js';

const ANSWER_MS = 60_000;
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
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(ANSWER_MS) });
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new Error(`${url} does not answer: ${messageOf(cause)}`);
  }
  if (!response.ok)
    throw new Refused(response.status, `${url} answers ${response.status}: ${printable(text.slice(0, SHOWN_CHARS))}`);
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
