/** The bound on what a coordinator works on at once: requests, and the bytes of their bodies. */
import { unavailable } from '../../shared/errors.js';

export class InFlight {
  #requests = 0;
  #bodyBytes = 0;

  constructor(
    private readonly requestsMax: number,
    private readonly bodyBytesMax: number,
  ) {}

  get requests(): number {
    return this.#requests;
  }

  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** Throws `unavailable` where the coordinator is full. Each `enter` that returns needs one `leave`. */
  enter(): void {
    if (this.#requests >= this.requestsMax) throw unavailable('too many requests are under way; retry shortly');
    this.#requests += 1;
  }

  leave(): void {
    this.#requests -= 1;
  }

  /** Throws `unavailable` where no room is left. What returns must be given back with `release`. */
  reserve(sizeBytes: number): void {
    if (this.#bodyBytes + sizeBytes > this.bodyBytesMax)
      throw unavailable('too many large bodies are under way; retry shortly');
    this.#bodyBytes += sizeBytes;
  }

  release(sizeBytes: number): void {
    this.#bodyBytes -= sizeBytes;
  }
}
