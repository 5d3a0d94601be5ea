/**
 * Detects lost messages: messages are lost silently when a NATS server dies or a process reconnects. After a while the sender
 * asks about its request, on the request's subject. NATS keeps the order of messages between two processes. So if the server does
 * not have the request in progress, and no answer came before, the request or its answer was lost.
 *
 * ```text
 * asks after     body: the tokens of the requests, by spaces     reply to: `<inbox>.LOST`
 * answer         body: the tokens that are not in progress
 * ```
 */
export const ASKS_AFTER_HEADER = 'Vouch-Asks-After';
/** Not a token of a request: those are numbers with lowercase letters. */
export const LOST_TOKEN = 'LOST';

/** One byte a character: an answer is never longer than its question. */
const ENCODING = 'latin1';

export const packTokens = (tokens: readonly string[]): Uint8Array => Buffer.from(tokens.join(' '), ENCODING);

export const unpackTokens = (body: Uint8Array): string[] =>
  body.length === 0 ? [] : Buffer.from(body).toString(ENCODING).split(' ');
