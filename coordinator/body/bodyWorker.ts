/** The thread that prepares large bodies, while the coordinator's thread serves. Started by `bodyPool.ts`. */
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.js';
import { type ErrorCode, messageOf, VouchError } from '../../shared/errors/errors.js';
import type { Scale } from '../../shared/fixedPoint.js';
import { cpuTimeMs } from '../../shared/process/stalls.js';
import type { BodyBounds } from './bounds.js';
import { BODY_KINDS, type BodyForm, type BodyKind, prepareBody } from './kinds.js';

export interface BodyJob {
  readonly kind: BodyKind;
  readonly form: BodyForm;
  readonly scale: Scale;
  /** Transferred, not copied. */
  readonly bytes: Uint8Array;
}

/** Prepares the last body again, in this scale. */
export interface BodyAgain {
  readonly scale: Scale;
}

export type BodyOutcome =
  | { readonly prepared: unknown }
  | { readonly code: ErrorCode; readonly message: string }
  /** A defect, for the log. */
  | { readonly defect: string };

/** The answer of the thread, with the wall and CPU time of the turn that made it (`Stall`). */
export interface BodyTurn {
  readonly outcome: BodyOutcome;
  readonly times: { readonly ms: number; readonly cpuMs: number };
}

const bounds = workerData as BodyBounds;

let last: BodyJob | undefined;

parentPort?.on('message', (message: BodyJob | BodyAgain) => {
  last = 'bytes' in message ? message : { ...last!, ...message };
  const { kind, form, scale, bytes } = last;
  const [startedMs, startedCpuMs] = [systemClock.monotonicMs(), cpuTimeMs()];
  const post = (outcome: BodyOutcome, transferred: readonly unknown[] = []): void => {
    const times = { ms: systemClock.monotonicMs() - startedMs, cpuMs: cpuTimeMs() - startedCpuMs };
    parentPort?.postMessage({ outcome, times } satisfies BodyTurn, transferred as Transferable[]);
  };
  try {
    const prepared = prepareBody(kind, form, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), bounds, scale);
    const { buffers } = BODY_KINDS[kind] as { buffers?: (value: unknown) => ArrayBufferLike[] };
    post({ prepared }, buffers?.(prepared));
  } catch (error) {
    post(error instanceof VouchError ? { code: error.code, message: error.message } : { defect: messageOf(error) });
  }
});
