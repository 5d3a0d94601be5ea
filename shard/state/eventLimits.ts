/**
 * The largest sizes of new events. Every write is checked here: calls of coordinators, of any other sender in NATS, and
 * imported frames. Replay, followers and verification check no sizes, so a log still opens after a limit was lowered.
 */
import { isUtf8 } from 'node:buffer';
import { counted } from '../../shared/errors/counted.js';
import { VouchError } from '../../shared/errors/errors.js';
import { GCM_TAG_BYTES, REQUEST_ID_BYTES } from '../../shared/limits.js';
import type { InsertBatchCall } from '../../shared/protocol/writes.js';

/** Settings under `limits`. Coordinators check them first, so all processes must have equal values. */
export interface EventLimits {
  /** Largest number of bytes of a record's metadata. */
  readonly metadataBytes: number;
  /** Most UTF-8 bytes of a record's text. */
  readonly textBytes: number;
  /** Largest number of bytes of an encrypted record's plaintext. */
  readonly payloadBytes: number;
  /** Largest number of records of one batch. */
  readonly batchVectors: number;
}

interface Sized {
  readonly metadata?: Uint8Array | null;
  /** UTF-8. */
  readonly text?: Uint8Array | null;
}

/** Throws `validation_error` if metadata or text is too large, or the text is not UTF-8. `what` begins the message, such as `item 3: `. */
export function assertContent({ metadata, text }: Sized, limits: EventLimits, what = ''): void {
  assertWithin('metadataBytes', metadata?.length ?? 0, limits, `${what}metadata takes`);
  assertWithin('textBytes', text?.length ?? 0, limits, `${what}text takes`);
  if (text && !isUtf8(text)) throw refused(`${what}text is not UTF-8`);
}

/** Throws `validation_error` if the plaintext is too large. */
export const assertPayload = (payloadBytes: number, limits: EventLimits): void =>
  assertWithin('payloadBytes', payloadBytes, limits, 'payload takes');

/** Throws `validation_error` if the ciphertext is too large. It is as long as its plaintext plus a tag. */
export const assertCiphertext = (ciphertext: Uint8Array, limits: EventLimits): void =>
  assertPayload(ciphertext.length - GCM_TAG_BYTES, limits);

/** Throws `validation_error` if a batch is too large, or if a list does not have one entry per vector. */
export function assertBatchShape(call: InsertBatchCall, limits: EventLimits): void {
  const { count, tags, metadata, texts, requestIds, externalIds, expiresAtMs } = call;
  if (count > limits.batchVectors) throw refused(`the batch has ${count} vectors; ${allowed('batchVectors', limits)}`);
  for (const [name, list] of Object.entries({ tags, metadata, texts, requestIds, externalIds, expiresAtMs }))
    if (list != null && list.length !== count)
      throw refused(
        `the batch has ${counted(count, 'vector')} and ${counted(list.length, 'entry', 'entries')} of ${name}`,
      );
}

/** Throws `validation_error` if a list of keys does not have one entry per vector. */
export function assertListed(keyIds: readonly unknown[] | undefined, count: number): void {
  if (keyIds !== undefined && keyIds.length !== count)
    throw refused(
      `the batch has ${counted(count, 'vector')} and ${counted(keyIds.length, 'entry', 'entries')} of keyIds`,
    );
}

/** Throws `validation_error` if the request id has another length. */
export function assertRequestId(requestId: Uint8Array): void {
  if (requestId.length !== REQUEST_ID_BYTES)
    throw refused(`a request id has ${counted(requestId.length, 'byte')}; it must have ${REQUEST_ID_BYTES}`);
}

function assertWithin(limit: keyof EventLimits, sizeBytes: number, limits: EventLimits, subject: string): void {
  if (sizeBytes > limits[limit]) throw refused(`${subject} ${sizeBytes} bytes; ${allowed(limit, limits)}`);
}

const allowed = (limit: keyof EventLimits, limits: EventLimits): string =>
  `at most ${limits[limit]} are allowed (limits.${limit})`;

const refused = (message: string): VouchError => new VouchError('validation_error', message);
