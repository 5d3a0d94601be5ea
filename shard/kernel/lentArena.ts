import type { Kernel } from './kernel.js';
import type { ScratchArena } from './vectorMemory.js';

/** Pieces begin at multiples of this, as in an arena. */
const ALIGNMENT_BYTES = 16;

/** The part of an arena that is lent to a thread for its scratch. Pieces are freed all at once, by the last of them. */
export class LentArena implements ScratchArena {
  readonly words: Uint32Array;
  readonly numbers: Float64Array;
  #takenBytes = 0;
  #pieces = 0;

  constructor(
    readonly kernel: Kernel,
    readonly buffer: SharedArrayBuffer,
    private readonly address: number,
    private readonly sizeBytes: number,
  ) {
    this.words = new Uint32Array(buffer);
    this.numbers = new Float64Array(buffer);
  }

  allocateScratch(sizeBytes: number): number | undefined {
    const address = this.address + this.#takenBytes;
    if (this.#takenBytes + sizeBytes > this.sizeBytes) return undefined;
    this.#takenBytes += ALIGNMENT_BYTES * Math.ceil(sizeBytes / ALIGNMENT_BYTES);
    this.#pieces++;
    return address;
  }

  freeScratch(): void {
    if (--this.#pieces === 0) this.#takenBytes = 0;
  }
}
