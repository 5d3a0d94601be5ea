/** Divides long work by its bytes, so that the process answers other requests in between. */

/** Lets the event loop turn, and resolves when it has. */
export type Pause = () => Promise<void>;

/** Bytes of a slice: about 0.7 ms of hashing. */
const SLICE_BYTES = 512 * 1024;
/** The cost of an event beyond its bytes, as bytes hashed in that time. */
export const EVENT_COST_BYTES = 1024;

export class Pacer {
  #spentBytes = 0;

  constructor(private readonly pause: Pause) {}

  /** Adds work of hashing `sizeBytes`. Returns true when it is time to `rest`. */
  spend(sizeBytes: number): boolean {
    this.#spentBytes += sizeBytes;
    return this.#spentBytes >= SLICE_BYTES;
  }

  rest(): Promise<void> {
    this.#spentBytes = 0;
    return this.pause();
  }
}
