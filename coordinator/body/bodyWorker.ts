/** The thread that prepares large bodies, while the coordinator's thread serves. Started by `bodyPool.ts`. */
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/clock.js';
import { type ErrorCode, messageOf, VouchError } from '../../shared/errors/errors.js';
import type { Scale } from '../../shared/fixedPoint.js';
import { keepSpare } from '../../shared/longMemory.js';
import { cpuTimeMs } from '../../shared/process/stalls.js';
import { giveWay } from '../../shared/process/workerThread.js';
import { isShared } from './bodyMemory.js';
import type { BodyBounds } from './bounds.js';
import { BODY_KINDS, type BodyForm, type BodyKind, prepareBody } from './kinds.js';

export interface BodyJob {
  readonly kind: BodyKind;
  readonly form: BodyForm;
  readonly scale: Scale;
  /** Shared or transferred, not copied. */
  readonly bytes: Uint8Array;
  /** Memory for the vectors, which is transferred. */
  readonly spare?: ArrayBuffer | undefined;
}

export type BodyOutcome =
  | { readonly prepared: unknown }
  | { readonly code: ErrorCode; readonly message: string }
  /** A defect, for the log. */
  | { readonly defect: string };

/** The answer of the thread, with the wall and CPU time of the turn that made it (`Stall`). */
export interface BodyTurn {
  readonly outcome: BodyOutcome;
  /** The body of the job; transferred back if it was transferred. */
  readonly bytes: Uint8Array;
  readonly times: { readonly ms: number; readonly cpuMs: number };
}

const bounds = workerData as BodyBounds;

giveWay();

parentPort?.on('message', ({ kind, form, scale, bytes, spare }: BodyJob) => {
  if (spare !== undefined) keepSpare(spare);
  const [startedMs, startedCpuMs] = [systemClock.monotonicMs(), cpuTimeMs()];
  const post = (outcome: BodyOutcome, transferred: readonly unknown[] = []): void => {
    const times = { ms: systemClock.monotonicMs() - startedMs, cpuMs: cpuTimeMs() - startedCpuMs };
    const turn: BodyTurn = { outcome, bytes, times };
    parentPort?.postMessage(turn, [...(isShared(bytes) ? [] : [bytes.buffer]), ...transferred] as Transferable[]);
  };
  try {
    const sent = { form, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) };
    const prepared = prepareBody(kind, sent, bounds, scale);
    const { buffers } = BODY_KINDS[kind] as { buffers?: (value: unknown) => ArrayBufferLike[] };
    post({ prepared }, buffers?.(prepared));
  } catch (error) {
    post(error instanceof VouchError ? { code: error.code, message: error.message } : { defect: messageOf(error) });
  }
});
