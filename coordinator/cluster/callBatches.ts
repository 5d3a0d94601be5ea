/** How many of the calls that wait fit into one message. Pure. */
import type { Way } from './callVerbs.js';

const CALLS_PER_MESSAGE = 64;

/** What a call and its answer take at most. */
export interface Sized {
  readonly sizeBytes: number;
  readonly answerBytes: number;
}

/** In order; question and answer travel in one message each. Control calls travel alone: one may take minutes. */
export function* messagesOf<C extends Sized>(calls: readonly C[], way: Way, boundBytes: number): Generator<C[]> {
  const callsMax = way === 'control' ? 1 : CALLS_PER_MESSAGE;
  let message: C[] = [];
  let sizeBytes = 0;
  let answerBytes = 0;
  for (const call of calls) {
    sizeBytes += call.sizeBytes;
    answerBytes += call.answerBytes;
    const full = message.length === callsMax || sizeBytes > boundBytes || answerBytes > boundBytes;
    if (full && message.length > 0) {
      yield message;
      message = [];
      ({ sizeBytes, answerBytes } = call);
    }
    message.push(call);
  }
  yield message;
}
