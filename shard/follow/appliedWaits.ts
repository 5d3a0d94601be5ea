import { setTimeout as delay } from 'node:timers/promises';

interface Waiting {
  readonly sequence: number;
  readonly reached: () => void;
}

/** Callers that wait until a follower has applied an event. */
export class AppliedWaits {
  readonly #waiting = new Set<Waiting>();

  /** Resolves to whether the event is applied within that time. */
  async until(sequence: number, withinMs: number): Promise<boolean> {
    const ended = new AbortController();
    let waiting: Waiting | undefined;
    const reached = new Promise<boolean>((resolve) => {
      waiting = { sequence, reached: () => resolve(true) };
      this.#waiting.add(waiting);
    });
    const late = delay(withinMs, false, { signal: ended.signal, ref: false }).catch(() => false);
    try {
      return await Promise.race([reached, late]);
    } finally {
      ended.abort();
      this.#waiting.delete(waiting as Waiting);
    }
  }

  /** Call it when everything up to `sequence` is applied. */
  applied(sequence: number): void {
    for (const waiting of this.#waiting) if (waiting.sequence <= sequence) waiting.reached();
  }
}
