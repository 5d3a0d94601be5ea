/**
 * The bytes between coordinator and shard: msgpack. One message carries one or more calls and is answered by one
 * message with as many outcomes, in the same order.
 */
import { Packr } from 'msgpackr';
import type { AreCalls } from './callShapes.js';
import { isErrorCode, VouchError } from './errors.js';
import { Malformed } from './malformed.js';
import { NobodyServes } from './transport/nobodyServes.js';

/** A call with the envelope of the HTTP request it belongs to. */
export interface Sent<C> {
  readonly requestId: string;
  readonly deadlineMs: number;
  readonly call: C;
}

export type Outcome =
  | { readonly ok: unknown }
  /** Not done, and not to be done here: whoever serves the collection now is to be asked. */
  | { readonly moved: true }
  | { readonly code: string; readonly message: string; readonly retryAfterSecs?: number };

// Records (shared structures) would tie a message to the connection it came over; plain maps stand alone.
const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export const pack = (value: unknown): Uint8Array => packr.pack(value);

/** Byte strings in the result are views of `bytes`: copy what outlives the message. Throws Malformed. */
export function unpack(bytes: Uint8Array): unknown {
  try {
    return packr.unpack(bytes);
  } catch {
    // The reason quotes what was read, and that may be anybody's payload.
    throw new Malformed('not msgpack', 0);
  }
}

export const packCalls = <C>(calls: readonly Sent<C>[]): Uint8Array =>
  pack(calls.map(({ requestId, deadlineMs, call }) => [requestId, deadlineMs, call]));

/**
 * `shiftMs`: of the message, see `Message`. Throws Malformed where the message is not of calls as `areCalls` knows them.
 */
export function unpackCalls<C>(bytes: Uint8Array, areCalls: AreCalls<C>, shiftMs = 0): Sent<C>[] {
  const calls = unpack(bytes);
  if (!areCalls(calls)) throw new Malformed('not a message of calls', 0);
  return calls.map(([requestId, deadlineMs, call]) => ({ requestId, deadlineMs: deadlineMs + shiftMs, call }));
}

export const packOutcomes = (outcomes: readonly Outcome[]): Uint8Array => pack(outcomes);
export const unpackOutcomes = (bytes: Uint8Array): Outcome[] => unpack(bytes) as Outcome[];

/** What a caller may see of a failure. Anything but a VouchError is a defect here and says nothing outside. */
export function failure(error: unknown): Outcome {
  if (error instanceof NobodyServes) return { moved: true };
  if (!(error instanceof VouchError))
    return { code: 'internal_error', message: 'the service failed; the cause is in its log' };
  const { code, message, retryAfterSecs } = error;
  return retryAfterSecs === undefined ? { code, message } : { code, message, retryAfterSecs };
}

/** The value of an outcome; throws what the other side has thrown, NobodyServes where it has done nothing. */
export function unwrap<R>(outcome: Outcome): R {
  if ('ok' in outcome) return outcome.ok as R;
  if ('moved' in outcome) throw new NobodyServes();
  const code = isErrorCode(outcome.code) ? outcome.code : 'internal_error';
  throw new VouchError(
    code,
    outcome.message,
    outcome.retryAfterSecs === undefined ? {} : { retryAfterSecs: outcome.retryAfterSecs },
  );
}
