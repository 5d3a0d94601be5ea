/** The newest request ids of a collection and the writes they belong to. Derived from the log, so it survives everything. */

export interface AppliedRequest {
  readonly recordId: number;
  readonly sequence: number;
}

/** 16 bytes as a string of 16 characters: compact, and a Map key by value. */
export const requestKey = (requestId: Uint8Array): string => String.fromCharCode(...requestId);

export class RequestWindow {
  /** In order of insertion, oldest first: a Map keeps it. */
  readonly #applied = new Map<string, AppliedRequest>();

  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#applied.size;
  }

  /** Oldest first: added again in this order they make the same window. */
  entries(): IterableIterator<[string, AppliedRequest]> {
    return this.#applied.entries();
  }

  find(key: string): AppliedRequest | undefined {
    return this.#applied.get(key);
  }

  add(key: string, applied: AppliedRequest): void {
    // A window that was smaller once let a key in twice: its age counts from the later time.
    this.#applied.delete(key);
    this.#applied.set(key, applied);
    if (this.#applied.size <= this.capacity) return;
    const [oldest] = this.#applied.keys();
    this.#applied.delete(oldest as string);
  }
}
