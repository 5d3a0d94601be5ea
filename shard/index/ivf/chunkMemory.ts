/** The memory of a part of an inverted list, as any thread reads it. */
import { BitSet } from '../../kernel/bitSet.js';
import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { CODED_ROWS, planeFixedBytes, planeRowBytes } from '../../kernel/planeMemory.js';
import { rotatedBytes, signCodeBytes, wholeGroups } from '../../kernel/signCodes.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';

/** End of the used places, bound of the components, whether rows have codes, capacity. */
const HEADER_WORDS = 4;
const HEADER_BYTES = 4 * HEADER_WORDS;
const SLOT_BYTES = 4;
const ALIGNMENT_BYTES = 16;
/** Largest size of a chunk, unless even a chunk of the fewest rows needs more. */
const CHUNK_BYTES_MAX = 1 << 20;
/** Largest empty share of a new chunk. Where it would be larger, the chunk gets half the size, and fewer rows. */
const WASTE_MAX = 1 / 4;

/** The sizes of the parts of a chunk; see `ChunkMemory`. */
export class ChunkShape {
  readonly #centroidBytes: number;
  readonly #signBytes: number;
  /** The capacity of a chunk is a multiple of this. */
  readonly #rowsUnit: number;

  /** `codeBytes`: bytes of a byte code. `signDimension`: dimension of the sign codes; 0 if rows have none. */
  constructor(
    readonly codeBytes: number,
    readonly signDimension: number,
  ) {
    const hasSigns = signDimension > 0;
    this.#centroidBytes = hasSigns ? rotatedBytes(signDimension) : 0;
    this.#signBytes = hasSigns ? signCodeBytes(signDimension) : 0;
    this.#rowsUnit = hasSigns ? wholeGroups(1) : CODED_ROWS;
  }

  /** Returns the size of a chunk for `rows` rows. It may have room for only some of them. Sizes of regions are powers of two. */
  bytesFor(rows: number): number {
    const least = classBytes(this.#bytes(this.#rowsUnit));
    const wanted = this.#bytes(rows);
    const above = Math.max(least, classBytes(wanted));
    const sizeBytes = above > least && (above - wanted) / above > WASTE_MAX ? above / 2 : above;
    return Math.min(sizeBytes, Math.max(least, CHUNK_BYTES_MAX));
  }

  capacityOf(sizeBytes: number): number {
    let rows = Math.floor((sizeBytes - this.#bytes(0)) / this.#rowBytes);
    rows -= rows % this.#rowsUnit;
    while (this.#bytes(rows) > sizeBytes) rows -= this.#rowsUnit;
    return rows;
  }

  /** Returns the addresses of the parts of a chunk. */
  placesIn(address: number, capacity: number) {
    const centroid = address + HEADER_BYTES;
    const bitmap = centroid + this.#centroidBytes;
    const signs = bitmap + this.#bitmapBytes(capacity);
    const plane = signs + capacity * this.#signBytes;
    const slots = plane + this.#planeBytes(capacity);
    return { centroid, bitmap, signs, plane, slots };
  }

  #bitmapBytes(rows: number): number {
    return Math.ceil(bitmapBytesOf(rows) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  }

  #planeBytes(rows: number): number {
    return planeFixedBytes(this.codeBytes) + rows * planeRowBytes(this.codeBytes);
  }

  get #rowBytes(): number {
    return planeRowBytes(this.codeBytes) + SLOT_BYTES + this.#signBytes;
  }

  #bytes(rows: number): number {
    const { slots } = this.placesIn(0, rows);
    return slots + rows * SLOT_BYTES;
  }
}

/**
 * A part of a list. Its rows never move. The parts of its memory:
 *
 *   Header | rotated centroid | bitmap of the used places | sign codes | plane with byte codes |
 *   slots: capacity × u32, NO_SLOT for a gap
 */
export class ChunkMemory<A extends ScratchArena = ScratchArena> {
  readonly places: Readonly<Record<'centroid' | 'bitmap' | 'signs' | 'plane' | 'slots', number>>;
  readonly #header: Uint32Array;
  #slots: Uint32Array | undefined;
  #used: BitSet | undefined;

  constructor(
    readonly arena: A,
    readonly address: number,
    shape: ChunkShape,
  ) {
    this.#header = new Uint32Array(arena.buffer, address, HEADER_WORDS);
    this.places = shape.placesIn(address, this.capacity);
  }

  /** Makes an empty chunk. */
  static empty<A extends ScratchArena>(
    arena: A,
    address: number,
    shape: ChunkShape,
    { hasCodes, capacity }: { readonly hasCodes: boolean; readonly capacity: number },
  ): ChunkMemory<A> {
    new Uint32Array(arena.buffer, address, HEADER_WORDS).set([0, 0, Number(hasCodes), capacity]);
    return new ChunkMemory(arena, address, shape);
  }

  /** End of the places that have a row, or had one. */
  get end(): number {
    return this.#header[0]!;
  }

  set end(end: number) {
    this.#header[0] = end;
  }

  /** Upper bound of the magnitudes of all components, and of the plane's middles. It never falls. */
  get largestComponent(): number {
    return this.#header[1]!;
  }

  set largestComponent(largest: number) {
    this.#header[1] = largest;
  }

  get hasCodes(): boolean {
    return this.#header[2] === 1;
  }

  get capacity(): number {
    return this.#header[3]!;
  }

  get slots(): Uint32Array {
    this.#slots ??= new Uint32Array(this.arena.buffer, this.places.slots, this.capacity);
    return this.#slots;
  }

  /** Places that have a row. */
  get used(): BitSet {
    this.#used ??= new BitSet(
      new Uint32Array(this.arena.buffer, this.places.bitmap, bitmapBytesOf(this.capacity) / SLOT_BYTES),
    );
    return this.#used;
  }
}
