/** Time and chance of the client, for deadlines, waits and request ids. */

import { onAbort } from './signals.js';

/** Milliseconds from an arbitrary start. Never goes back. */
export const monotonicMs = (): number => performance.now();

/** 16 unpredictable bytes as 32 hex digits. */
export const newRequestId = (): string => hex(crypto.getRandomValues(new Uint8Array(16)));

/** An id of a document: a UUID of version 4. Pages without a secure context have no `randomUUID`. */
export function newDocumentId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A number from 0 to 1, so that many clients do not retry at the same moment. */
export const jitter = (): number => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;

/** The longest time of a timer. A runtime runs a timer that is set for longer at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls `run` after `ms` milliseconds of any length; with `Infinity` never. Returns the function that cancels it. */
export function startTimer(ms: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (leftMs: number): void => {
    timer =
      leftMs > TIMER_MAX_MS ? setTimeout(() => wait(leftMs - TIMER_MAX_MS), TIMER_MAX_MS) : setTimeout(run, leftMs);
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** Returns a time in milliseconds, which may be `Infinity`. Throws TypeError for anything that is not a number above 0. */
export function assertedMs(name: string, ms: number): number {
  if (typeof ms === 'number' && ms > 0) return ms;
  throw new TypeError(`${name}: expected milliseconds above 0, or Infinity, got ${ms}`);
}

/** Waits. Rejects with the reason of `signal` as soon as it is aborted. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const ignoreSignal =
      signal &&
      onAbort(signal, () => {
        cancel();
        reject(signal.reason);
      });
    const cancel = startTimer(ms, () => {
      ignoreSignal?.();
      resolve();
    });
  });
}

/** The parameters of a request with texts for dates. Throws TypeError for an invalid date. */
export const isoDates = (query: object): object =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]): [string, unknown] => [name, value instanceof Date ? iso(value) : value]),
  );

function iso(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new TypeError('the instant is an invalid date');
  return date.toISOString();
}
