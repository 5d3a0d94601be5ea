/**
 * How fast a log is checked in the background: as fast as it can be read while nobody calls the shard, and while somebody
 * does at a pace that callers do not notice. Both threads see the count of calls, so the first call after a quiet time finds
 * no more than one piece before it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import { nextTurn } from '../pause.js';

/** One counter, in memory that threads share. It wraps, which is a change like any other. */
export type CallCount = Int32Array<SharedArrayBuffer>;

export const newCallCount = (): CallCount => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** What is read before it is looked whether anybody calls. */
export const PIECE_BYTES = 256 << 10;
// Under calls about 2 MiB or 250 small frames a second: a hundredth of the owner's thread, which then answers as before.
// Measured: a frame of 590 KB takes some 4 ms of it in pieces of 1 ms, one of a single record 40 µs.
const REST_MS = 120;
/** A shard that was not called for so long is left to the check. */
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

  /** Resolves when so much more may be read. Throws the signal's reason. */
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
