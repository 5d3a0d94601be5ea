/**
 * BLAKE3 with the WebAssembly of the package `blake3`, without the package's JavaScript. That makes three copies and four
 * objects for each hash, which for the 65 bytes of a tree node costs more than the hash. Long messages have code of their own.
 */
import { HASH_BYTES } from '../limits.js';
import { compileFile, instantiateWith } from '../webAssembly.js';
import { LONG_BYTES, LongHash } from './longHash.js';

/** The used part of the module. `hash` frees the memory of its message. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  __wbindgen_malloc(sizeBytes: number): number;
  hash(message: number, messageBytes: number, digest: number, digestBytes: number): void;
}

/** Copied at the build from the package. */
const MODULE = new URL('./blake3.wasm', import.meta.url);
const IMPORTS = {
  __wbindgen_placeholder__: {
    __wbindgen_throw: () => {
      throw new Error('BLAKE3 failed in its WebAssembly');
    },
  },
};

export class Blake3 {
  readonly #exports: Exports;
  readonly #digestAt: number;
  readonly #long = new LongHash();
  /** Made again when the memory has grown, which leaves it without bytes. To compare buffers would cost as much as a short hash. */
  #memory = new Uint8Array();
  #digest = new Uint8Array();

  constructor() {
    this.#exports = instantiateWith(compileFile(MODULE), IMPORTS);
    this.#digestAt = this.#exports.__wbindgen_malloc(HASH_BYTES);
  }

  /** Returns the 32 bytes of the hash. */
  hash(message: Uint8Array): Uint8Array {
    const digest = new Uint8Array(HASH_BYTES);
    this.hashInto(message, digest, 0);
    return digest;
  }

  /** Writes the 32 bytes to `target` from `at` on. */
  hashInto(message: Uint8Array, target: Uint8Array, at: number): void {
    const { length } = message;
    if (length >= LONG_BYTES) {
      target.set(this.#long.hash(message), at);
      return;
    }
    const messageAt = this.#exports.__wbindgen_malloc(length);
    if (this.#memory.length === 0) this.#look();
    this.#memory.set(message, messageAt);
    this.#exports.hash(messageAt, length, this.#digestAt, HASH_BYTES);
    if (this.#memory.length === 0) this.#look();
    target.set(this.#digest, at);
  }

  /** Writes the hashes of four messages of one size to `target` from `at` on: see `LongHash`. */
  hashTogetherInto(
    bytes: Uint8Array,
    starts: ArrayLike<number>,
    sizeBytes: number,
    { target, at }: { readonly target: Uint8Array; readonly at: number },
  ): void {
    target.set(this.#long.hashTogether(bytes, starts, sizeBytes), at);
  }

  /** Hashes a message of at least LONG_BYTES in steps: see `LongHash`. */
  steps(message: Uint8Array, values?: Uint8Array): Generator<number, Uint8Array> {
    return this.#long.steps(message, values);
  }

  /** Hashes a message whose beginning was hashed in steps: see `LongHash`. */
  hashOnward(message: Uint8Array, hashedBytes: number, values: Uint8Array): Uint8Array {
    return this.#long.hashOnward(message, hashedBytes, values).slice();
  }

  #look(): void {
    this.#memory = new Uint8Array(this.#exports.memory.buffer);
    this.#digest = this.#memory.subarray(this.#digestAt, this.#digestAt + HASH_BYTES);
  }
}
