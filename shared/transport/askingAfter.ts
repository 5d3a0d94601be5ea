/**
 * What is unanswered for a while is asked after, on the subject that it was asked on: a server that dies takes messages with
 * it, and so does a connection that is made anew; neither side is told. Between two processes NATS keeps the order of what
 * is sent. So where the one that serves does not have a question under way when it is asked after it, and no answer has
 * come before the answer to this, one of the two was lost.
 *
 *   asks after     body: the tokens of the questions, by spaces     reply to: `<inbox>.LOST`
 *   answer         body: those that it does not have under way
 */
export const ASKS_AFTER_HEADER = 'Vouch-Asks-After';
/** No question's token: those are numbers in lowercase letters. */
export const LOST_TOKEN = 'LOST';

export const packTokens = (tokens: readonly string[]): Uint8Array => Buffer.from(tokens.join(' '));

export const unpackTokens = (body: Uint8Array): string[] =>
  body.length === 0 ? [] : Buffer.from(body).toString().split(' ');
