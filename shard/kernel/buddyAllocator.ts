/**
 * A binary buddy allocator of an address range (Knuth, TAOCP 1, 2.5). Its bookkeeping is outside the range, so the
 * range may be larger than the memory that exists so far.
 */

/** Smallest class, and the alignment of every address: a cache line. */
const GRANULE_BYTES = 64;

/** log2 of the smallest class, counted in granules, that holds `sizeBytes`. */
const orderOf = (sizeBytes: number): number => 32 - Math.clz32(Math.max(0, Math.ceil(sizeBytes / GRANULE_BYTES) - 1));

/** Returns the bytes that an allocation of `sizeBytes` takes: the next power of two. */
export const classBytes = (sizeBytes: number): number => GRANULE_BYTES * 2 ** orderOf(sizeBytes);

/**
 * Free pieces of one order. The last freed piece is reused first, since it is most likely in the processor's cache. A
 * `Set` would walk over its deleted entries to find one.
 */
class FreePieces {
  readonly #pieces: number[] = [];
  /** Place of each piece in the array. */
  readonly #places = new Map<number, number>();

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  add(piece: number): void {
    this.#places.set(piece, this.#pieces.push(piece) - 1);
  }

  /** Removes the last piece. There must be one. */
  take(): number {
    const piece = this.#pieces.pop()!;
    this.#places.delete(piece);
    return piece;
  }

  /** Returns false if the piece is not in the list. */
  delete(piece: number): boolean {
    const place = this.#places.get(piece);
    if (place === undefined) return false;
    const last = this.take();
    if (last === piece) return true;
    this.#pieces[place] = last;
    this.#places.set(last, place);
    this.#places.delete(piece);
    return true;
  }
}

export class BuddyAllocator {
  /** Free pieces by order; addresses in granules, so that 4 GiB of them are small integers. */
  readonly #free: FreePieces[];
  /** The order of each allocated piece. */
  readonly #taken = new Map<number, number>();
  #usedBytes = 0;

  /** `sizeBytes`: a power of two. */
  constructor(readonly sizeBytes: number) {
    const top = orderOf(sizeBytes);
    if (classBytes(sizeBytes) !== sizeBytes) throw new Error(`${sizeBytes} bytes are not a power of two`);
    this.#free = Array.from({ length: top + 1 }, () => new FreePieces());
    this.#free[top]!.add(0);
  }

  /** The bytes of all allocations, each rounded up to its class. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Returns the address, a multiple of its class; undefined if no free piece is large enough. */
  allocate(sizeBytes: number): number | undefined {
    const order = orderOf(sizeBytes);
    let from = order;
    while (from < this.#free.length && this.#free[from]!.isEmpty) from++;
    if (from >= this.#free.length) return undefined;
    const piece = this.#free[from]!.take();
    // Split the lower half further and keep the upper one free: the range fills from its start.
    while (from > order) this.#free[--from]!.add(piece + 2 ** from);
    this.#taken.set(piece, order);
    this.#usedBytes += GRANULE_BYTES * 2 ** order;
    return piece * GRANULE_BYTES;
  }

  /** Frees an allocation, and merges it with its free buddies. */
  free(address: number): void {
    let piece = address / GRANULE_BYTES;
    let order = this.#taken.get(piece);
    if (order === undefined) throw new Error(`nothing is allocated at ${address}`);
    this.#taken.delete(piece);
    this.#usedBytes -= GRANULE_BYTES * 2 ** order;
    for (; order < this.#free.length - 1; order++) {
      const buddy = piece ^ (2 ** order);
      if (!this.#free[order]!.delete(buddy)) break;
      piece = Math.min(piece, buddy);
    }
    this.#free[order]!.add(piece);
  }
}
