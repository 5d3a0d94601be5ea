/**
 * BLAKE3 of long messages, four chunks of a kibibyte side by side, and of four messages of one size: see `assembly/index.ts`. It
 * takes 0.7 of the time of the package `blake3`, which hashes one block after another.
 */
import { HASH_BYTES } from '../limits.js';
import { compileFile, instantiate, openOwnMemory, PAGE_BYTES } from '../webAssembly.js';

/** The exports of `assembly/index.ts`. Addresses are bytes. */
interface Lanes {
  prepare(): void;
  digestAt(): number;
  pieceAt(): number;
  listAt(): number;
  hashPiece(pieceBytes: number, counter: number, isWhole: boolean): void;
  joinPieces(pieces: number): void;
  hashMessages(sizeBytes: number, stride: number): void;
}

/** Messages that are hashed together, and their largest size. */
export const TOGETHER = 4;
export const TOGETHER_BYTES_MAX = 15 * 1024;
/** Shorter messages are hashed faster one block after another. */
export const LONG_BYTES = 8 * 1024;
const CHUNK_BYTES = 1024;
const BLOCK_BYTES = 64;
/** A longer message is hashed in pieces, which are whole subtrees. */
const PIECE_BYTES = 64 * CHUNK_BYTES;
/** Room for a message of 4 GiB. Unused pages take no memory. */
const LIST_BYTES = (2 ** 32 / PIECE_BYTES) * HASH_BYTES;
const PAGES = 3 + LIST_BYTES / PAGE_BYTES;

const MODULE = new URL('./longHash.wasm', import.meta.url);

/** Room for the chaining values of the pieces of a message. */
export const roomForValues = (sizeBytes: number): Uint8Array =>
  new Uint8Array(Math.ceil(sizeBytes / PIECE_BYTES) * HASH_BYTES);

/** Hashes messages of at least LONG_BYTES, and any four of one size. */
export class LongHash {
  readonly #lanes: Lanes;
  readonly #digests: Uint8Array;
  readonly #digest: Uint8Array;
  readonly #piece: Uint8Array;
  readonly #list: Uint8Array;

  constructor() {
    const memory = openOwnMemory(PAGES);
    this.#lanes = instantiate(compileFile(MODULE), memory);
    this.#lanes.prepare();
    this.#digests = new Uint8Array(memory.buffer, this.#lanes.digestAt(), TOGETHER * HASH_BYTES);
    this.#digest = this.#digests.subarray(0, HASH_BYTES);
    this.#piece = new Uint8Array(memory.buffer, this.#lanes.pieceAt(), PIECE_BYTES);
    this.#list = new Uint8Array(memory.buffer, this.#lanes.listAt(), LIST_BYTES);
  }

  /** Returns a view of the hash, until the next hash. */
  hash(message: Uint8Array): Uint8Array {
    const pieces = Math.ceil(message.length / PIECE_BYTES);
    for (let index = 0; index < pieces; index++) {
      this.#hashPiece(message, index);
      if (pieces > 1) this.#list.set(this.#digest, index * HASH_BYTES);
    }
    if (pieces > 1) this.#lanes.joinPieces(pieces);
    return this.#digest;
  }

  /**
   * Hashes a message in steps, and yields the number of bytes of each. Other messages may be hashed in between. `values` receives
   * the chaining values of its pieces, for `hashOnward`.
   */
  *steps(message: Uint8Array, values = roomForValues(message.length)): Generator<number, Uint8Array> {
    const pieces = Math.ceil(message.length / PIECE_BYTES);
    for (let index = 0; index < pieces; index++) {
      values.set(this.#hashPiece(message, index), index * HASH_BYTES);
      yield Math.min(PIECE_BYTES, message.length - index * PIECE_BYTES);
    }
    if (pieces === 1) return values.slice();
    this.#list.set(values);
    this.#lanes.joinPieces(pieces);
    return this.#digest.slice();
  }

  /**
   * Hashes a message whose first `hashedBytes`, more than a piece, were hashed in steps to `values`: only the pieces from the last one
   * on. Returns a view of the hash, until the next hash.
   */
  hashOnward(message: Uint8Array, hashedBytes: number, values: Uint8Array): Uint8Array {
    const known = Math.floor(hashedBytes / PIECE_BYTES);
    const pieces = Math.ceil(message.length / PIECE_BYTES);
    this.#list.set(values.subarray(0, known * HASH_BYTES));
    for (let index = known; index < pieces; index++)
      this.#list.set(this.#hashPiece(message, index), index * HASH_BYTES);
    this.#lanes.joinPieces(pieces);
    return this.#digest;
  }

  /**
   * Hashes four messages of `sizeBytes`, at most TOGETHER_BYTES_MAX, which begin at `starts` of `bytes`. Returns a view of their
   * hashes, one after another.
   */
  hashTogether(bytes: Uint8Array, starts: ArrayLike<number>, sizeBytes: number): Uint8Array {
    const stride = (Math.floor(sizeBytes / BLOCK_BYTES) + 2) * BLOCK_BYTES;
    for (let i = 0; i < TOGETHER; i++) {
      const start = starts[i]!;
      this.#piece.set(bytes.subarray(start, start + sizeBytes), i * stride);
    }
    this.#lanes.hashMessages(sizeBytes, stride);
    return this.#digests;
  }

  #hashPiece(message: Uint8Array, index: number): Uint8Array {
    const isWhole = message.length <= PIECE_BYTES;
    const piece = isWhole ? message : message.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES);
    this.#piece.set(piece);
    this.#lanes.hashPiece(piece.length, (index * PIECE_BYTES) / CHUNK_BYTES, isWhole);
    return this.#digest;
  }
}
