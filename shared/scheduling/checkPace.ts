/**
 * The pace of the background check of a log: full speed while the shard gets no calls, otherwise too slow for callers to notice.
 * Both threads see the count of calls, so the first call after a quiet time waits for at most one piece.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { nextTurn } from './slice.js';

/** A counter in memory that threads share. It may wrap. */
export type CallCount = Int32Array<SharedArrayBuffer>;

export const newCallCount = (): CallCount => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** The bytes read between two looks at the count of calls. */
export const PIECE_BYTES = 256 << 10;
// Rest after a piece while there are calls: about 2 MiB or 250 small frames a second, a hundredth of the owner's thread.
// Measured: a frame of 590 KB takes 4 ms of it in pieces of 1 ms, a frame of a single record 40 µs.
const REST_MS = 120;
/** After this time without a call, the check runs at full speed. */
const QUIET_MS = 250;

export class CheckPace {
  #seen: number;
  #calledMs: number;

  constructor(
    private readonly calls: CallCount,
    private readonly clock: Clock,
  ) {
    this.#seen = Atomics.load(calls, 0);
    this.#calledMs = clock.monotonicMs();
  }

  /** Resolves when the next piece may be read. Throws the signal's reason. */
  async rest(spentBytes: number, signal: AbortSignal): Promise<void> {
    const calls = Atomics.load(this.calls, 0);
    const nowMs = this.clock.monotonicMs();
    if (calls !== this.#seen) {
      this.#seen = calls;
      this.#calledMs = nowMs;
    }
    if (nowMs - this.#calledMs >= QUIET_MS) {
      await nextTurn();
      signal.throwIfAborted();
      return;
    }
    const restMs = (REST_MS * spentBytes) / PIECE_BYTES;
    await delay(restMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
