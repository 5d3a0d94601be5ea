/** The thread that prepares large bodies, while the coordinator's thread serves. Started by `bodyPool.ts`. */
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { type ErrorCode, messageOf, VouchError } from '../../shared/errors/errors.js';
import type { BodyBounds } from './bounds.js';
import { BODY_KINDS, type BodyForm, type BodyKind, prepareBody } from './kinds.js';

export interface BodyJob {
  readonly kind: BodyKind;
  readonly form: BodyForm;
  /** Transferred, not copied. */
  readonly bytes: Uint8Array;
}

export type BodyOutcome =
  | { readonly prepared: unknown }
  | { readonly code: ErrorCode; readonly message: string }
  /** A defect, for the log. */
  | { readonly defect: string };

const bounds = workerData as BodyBounds;

parentPort?.on('message', ({ kind, form, bytes }: BodyJob) => {
  try {
    const prepared = prepareBody(kind, form, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), bounds);
    const { buffers } = BODY_KINDS[kind] as { buffers?: (value: unknown) => ArrayBufferLike[] };
    const outcome: BodyOutcome = { prepared };
    parentPort?.postMessage(outcome, (buffers?.(prepared) ?? []) as Transferable[]);
  } catch (error) {
    const outcome: BodyOutcome =
      error instanceof VouchError ? { code: error.code, message: error.message } : { defect: messageOf(error) };
    parentPort?.postMessage(outcome);
  }
});
