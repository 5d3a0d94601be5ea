/**
 * Reused memory for long messages, frames and vectors. The system clears each page of new memory when it is first written. For
 * 300 KiB that takes 0.2 ms, and a copy into used memory 0.01 ms. Garbage outside of the heap also starts garbage collections.
 *
 * ```text
 * longMemory ──▶ in use, by one owner ──reuseLong──▶ free ──▶ in use again
 *                                                      └──unused for a while──▶ garbage
 * ```
 */

/** Shorter memory is not reused here: it has no pages of its own. */
export const LONG_BYTES = 64 * 1024;
/** Sizes are multiples of this, so that memory suits messages of nearly one size. */
const STEP_BYTES = 64 * 1024;
/** Largest number of free bytes of a thread. */
const FREE_BYTES = 8 << 20;
/** Time after the last use in which free memory is kept. */
const KEPT_MS = 10_000;

/** Free buffers. */
export class FreeMemory {
  /** The last one was used last. */
  #buffers: ArrayBufferLike[] = [];
  #sizeBytes = 0;
  #forgetting: NodeJS.Timeout | undefined;

  /** Keeps buffers of `bytesMax` in all. */
  constructor(private readonly bytesMax: number) {}

  /** Takes the smallest free buffer that suffices. */
  take(sizeBytes: number): ArrayBufferLike | undefined {
    let smallest: ArrayBufferLike | undefined;
    for (const buffer of this.#buffers)
      if (buffer.byteLength >= sizeBytes && buffer.byteLength < (smallest?.byteLength ?? Number.POSITIVE_INFINITY))
        smallest = buffer;
    return smallest && this.#remove(smallest);
  }

  /** Takes the largest free buffer. */
  takeLargest(): ArrayBufferLike | undefined {
    let largest: ArrayBufferLike | undefined;
    for (const buffer of this.#buffers) if (buffer.byteLength > (largest?.byteLength ?? 0)) largest = buffer;
    return largest && this.#remove(largest);
  }

  keep(buffer: ArrayBufferLike): void {
    this.#buffers.push(buffer);
    this.#sizeBytes += buffer.byteLength;
    while (this.#sizeBytes > this.bytesMax) this.#sizeBytes -= this.#buffers.shift()!.byteLength;
    if (this.#forgetting !== undefined) this.#forgetting.refresh();
    else
      this.#forgetting = setTimeout(() => {
        this.#buffers = [];
        this.#sizeBytes = 0;
        this.#forgetting = undefined;
      }, KEPT_MS).unref();
  }

  #remove(buffer: ArrayBufferLike): ArrayBufferLike {
    this.#buffers.splice(this.#buffers.indexOf(buffer), 1);
    this.#sizeBytes -= buffer.byteLength;
    return buffer;
  }
}

const free = new FreeMemory(FREE_BYTES);
/** Memory in use that may become free. */
const lent = new WeakSet<ArrayBufferLike>();

/** Memory with arbitrary content. */
export function longMemory(sizeBytes: number): Buffer<ArrayBuffer> {
  if (sizeBytes < LONG_BYTES) return Buffer.allocUnsafeSlow(sizeBytes) as Buffer<ArrayBuffer>;
  const roomBytes = STEP_BYTES * Math.ceil(sizeBytes / STEP_BYTES);
  const memory = free.take(sizeBytes) ?? Buffer.allocUnsafeSlow(roomBytes).buffer;
  lent.add(memory);
  return Buffer.from(memory as ArrayBuffer, 0, sizeBytes);
}

/** Memory of zeros. */
export const longZeros = (sizeBytes: number): Uint8Array =>
  sizeBytes < LONG_BYTES ? new Uint8Array(sizeBytes) : longMemory(sizeBytes).fill(0);

/** Frees memory from `longMemory`, which nothing may read any more. Does nothing for other memory. */
export function reuseLong({ buffer }: Uint8Array): void {
  if (lent.delete(buffer)) free.keep(buffer);
}

/** Makes memory that another thread has transferred here reusable. */
export function adoptLong({ buffer }: Uint8Array): void {
  if (buffer.byteLength >= LONG_BYTES && buffer instanceof ArrayBuffer) lent.add(buffer);
}

/** Takes free memory, to be transferred to another thread; undefined without any. */
export const spareLong = (aboutBytes: number): ArrayBuffer | undefined =>
  (free.take(aboutBytes) ?? free.takeLargest()) as ArrayBuffer | undefined;

/** Frees memory that another thread has transferred here. */
export const keepSpare = (memory: ArrayBuffer): void => free.keep(memory);
