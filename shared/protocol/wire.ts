/**
 * The messages between coordinator and shard. One message has one or more calls. Its answer is one message with as many outcomes,
 * in that order. Between processes they are msgpack.
 */
import { Packr } from 'msgpackr';
import { isErrorCode, VouchError } from '../errors/errors.js';
import { Malformed } from '../errors/malformed.js';
import { LONG_BYTES, longMemory } from '../longMemory.js';
import type { AuditedState } from '../model/readAudit.js';
import type { Body, Envelope, Transport, Unpacked } from '../transport/transport.js';
import { NotServed } from '../transport/transportErrors.js';
import type { AreCalls, SentActor, SentCall } from './callShapes.js';
import { packedBytesMax } from './packedSize.js';

/** A call with the envelope of the HTTP request it belongs to. */
export interface Sent<C> extends Envelope {
  readonly call: C;
}

export type Outcome =
  | { readonly ok: unknown; readonly audited?: AuditedState }
  /** The call had no effect: another shard serves the collection now. */
  | { readonly moved: true }
  | {
      readonly code: string;
      readonly message: string;
      readonly retryAfterSecs?: number;
      readonly audited?: AuditedState;
    };

// Shared structures would tie a message to its connection; plain maps do not.
const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

/** Most bytes that msgpackr leaves free behind a message. */
const SPARE_BYTES = 4 * 1024;
/** Size of the memory for the messages after a long one. */
const USUAL_BYTES = 8 * 1024;

/**
 * `bytesMax`: an upper bound of the result's size; 0: unknown. A long message is packed into long memory of its own: memory that
 * grows would copy 8 MiB several times.
 */
export function pack(value: unknown, bytesMax = 0): Uint8Array {
  if (bytesMax < LONG_BYTES) return packr.pack(value);
  packr.useBuffer(longMemory(bytesMax + SPARE_BYTES));
  try {
    return packr.pack(value);
  } finally {
    packr.useBuffer(Buffer.allocUnsafeSlow(USUAL_BYTES));
  }
}

/** Byte strings in the result are views of the body: copy what outlives the message. Throws Malformed. */
export function unpack(body: Body): unknown {
  if (!(body instanceof Uint8Array)) return body.values;
  try {
    return packr.unpack(body);
  } catch {
    // The reason may quote a payload.
    throw new Malformed('not msgpack', 0);
  }
}

/** The calls of a message. */
class SentCalls<C> implements Unpacked {
  #sizeBytes: number | undefined;

  constructor(readonly values: readonly Sent<C>[]) {}

  get sizeBytes(): number {
    this.#sizeBytes ??= packedBytesMax(this.values);
    return this.#sizeBytes;
  }

  pack(): Uint8Array {
    return pack(
      this.values.map(({ requestId, deadlineMs, call, actor }): SentCall<C> => {
        const sent: SentActor | null = actor === undefined ? null : [actor.keyId, actor.onBehalfOf, actor.requestId];
        return [requestId, deadlineMs, call, sent];
      }),
      this.sizeBytes,
    );
  }
}

/** The outcomes of an answer. */
class SentOutcomes implements Unpacked {
  #packed: Uint8Array | undefined;

  constructor(readonly values: readonly Outcome[]) {}

  get sizeBytes(): number {
    return packedBytesMax(this.values);
  }

  /** Packs them once: the sender looks at the size first. */
  pack(): Uint8Array {
    this.#packed ??= pack(this.values, this.sizeBytes);
    return this.#packed;
  }
}

export const packCalls = <C>(calls: readonly Sent<C>[]): Unpacked =>
  new SentCalls(calls.map(({ requestId, deadlineMs, call, actor }) => ({ requestId, deadlineMs, call, actor })));

/** `shiftMs`: see `Message`. Throws Malformed if `areCalls` refuses the bytes of a message. Values come from this process. */
export function unpackCalls<C>(body: Body, areCalls: AreCalls<C>, shiftMs = 0): readonly Sent<C>[] {
  if (!(body instanceof Uint8Array)) return body.values as readonly Sent<C>[];
  const calls = unpack(body);
  if (!areCalls(calls)) throw new Malformed('not a message of calls', 0);
  return calls.map(([requestId, deadlineMs, call, actor]) => ({
    requestId,
    deadlineMs: deadlineMs + shiftMs,
    call,
    actor: actor === null ? undefined : { keyId: actor[0], onBehalfOf: actor[1], requestId: actor[2] },
  }));
}

export const packOutcomes = (outcomes: readonly Outcome[]): Unpacked => new SentOutcomes(outcomes);
export const unpackOutcomes = (body: Body): readonly Outcome[] => unpack(body) as Outcome[];

/** The outcome of a failed call. Any error except a VouchError is a defect, whose text the caller does not get. */
export function failure(error: unknown): Outcome {
  if (error instanceof NotServed) return { moved: true };
  if (!(error instanceof VouchError))
    return { code: 'internal_error', message: 'the service failed; the cause is in its log' };
  const { code, message, retryAfterSecs } = error;
  return retryAfterSecs === undefined ? { code, message } : { code, message, retryAfterSecs };
}

/** The result of a call. Throws the other side's error, and NotServed if the call had no effect there. */
export function unwrap<R>(outcome: Outcome): R {
  if ('ok' in outcome) return outcome.ok as R;
  if ('moved' in outcome) throw new NotServed();
  const code = isErrorCode(outcome.code) ? outcome.code : 'internal_error';
  throw new VouchError(
    code,
    outcome.message,
    outcome.retryAfterSecs === undefined ? {} : { retryAfterSecs: outcome.retryAfterSecs },
  );
}

/** Sends one call and returns its result. Throws the errors of the other side and of the transport. */
export async function ask<R>(
  transport: Pick<Transport, 'request'>,
  subject: string,
  call: unknown,
  { requestId, deadlineMs }: Envelope,
): Promise<R> {
  const envelope = { requestId, deadlineMs };
  const answer = await transport.request(subject, packCalls([{ ...envelope, call }]), envelope);
  return unwrap(unpackOutcomes(answer)[0] as Outcome);
}
