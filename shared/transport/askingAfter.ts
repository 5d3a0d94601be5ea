/**
 * Detects lost messages: a NATS server that dies, and a new connection, lose messages without telling. After a while the
 * sender asks after a request, on the same subject. NATS keeps the order between two processes, so if the server does not
 * have the request in progress, and no answer came before, the request or its answer was lost.
 *
 *   asks after     body: the tokens of the requests, by spaces     reply to: `<inbox>.LOST`
 *   answer         body: the tokens that are not in progress
 */
export const ASKS_AFTER_HEADER = 'Vouch-Asks-After';
/** Not a token of a request: those are numbers with lowercase letters. */
export const LOST_TOKEN = 'LOST';

/** Byte for byte: an answer is never longer than what asks, whoever sends it. */
const ENCODING = 'latin1';

export const packTokens = (tokens: readonly string[]): Uint8Array => Buffer.from(tokens.join(' '), ENCODING);

export const unpackTokens = (body: Uint8Array): string[] =>
  body.length === 0 ? [] : Buffer.from(body).toString(ENCODING).split(' ');
