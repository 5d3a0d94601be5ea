/** Reads msgpack value by value (specification: msgpack/spec.md); extension types are refused. */

import { counted } from '../../shared/errors/counted.js';
import { invalid } from '../contract/refusal.js';

/** A value, or the head of one whose bytes or items follow. */
export type PackedHead =
  | { readonly type: 'map' | 'array' | 'string' | 'bytes'; readonly length: number }
  | { readonly type: 'number'; readonly value: number }
  /** An integer of 64 bits. */
  | { readonly type: 'large'; readonly value: bigint }
  | { readonly type: 'constant'; readonly value: boolean | null };

type Sized = 'map' | 'array' | 'string' | 'bytes';

/** Types whose length follows in so many bytes. */
const SIZED: Readonly<Record<number, readonly [Sized, bytes: number]>> = {
  196: ['bytes', 1],
  197: ['bytes', 2],
  198: ['bytes', 4],
  217: ['string', 1],
  218: ['string', 2],
  219: ['string', 4],
  220: ['array', 2],
  221: ['array', 4],
  222: ['map', 2],
  223: ['map', 4],
};
const NIL = 0xc0;
const FALSE = 0xc2;
const TRUE = 0xc3;
/** First and last type of numbers whose bytes follow. */
const FLOAT_32 = 0xca;
const INT_64 = 0xd3;
const UINT_64 = 0xcf;
const TWO_32 = 2 ** 32;

export class PackedReader {
  #at = 0;
  /** Position of the head that `next` has read. */
  #headAt = 0;

  constructor(private readonly bytes: Buffer) {}

  /** The number of unread bytes. */
  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** Throws `validation_error` at a wrong end, and at a type without a counterpart in JSON. */
  next(): PackedHead {
    this.#headAt = this.#at;
    const first = this.bytes[this.#skip(1)]!;
    if (first < 0x80) return { type: 'number', value: first };
    if (first >= 0xe0) return { type: 'number', value: first - 0x100 };
    if (first < 0x90) return { type: 'map', length: first & 0x0f };
    if (first < 0xa0) return { type: 'array', length: first & 0x0f };
    if (first < NIL) return { type: 'string', length: first & 0x1f };
    const sized = SIZED[first];
    if (sized !== undefined) return { type: sized[0], length: this.bytes.readUIntBE(this.#skip(sized[1]), sized[1]) };
    if (first === NIL) return { type: 'constant', value: null };
    if (first === FALSE || first === TRUE) return { type: 'constant', value: first === TRUE };
    if (first === UINT_64) return { type: 'large', value: this.bytes.readBigUInt64BE(this.#skip(8)) };
    if (first === INT_64) return { type: 'large', value: this.bytes.readBigInt64BE(this.#skip(8)) };
    return { type: 'number', value: this.#number(first) };
  }

  /**
   * Reads a number like `next`, without making an object; rounds an integer of 64 bits to a double. Undefined if the next value
   * is not a number, which then stays unread.
   */
  number(): number | undefined {
    const first = this.bytes[this.#at];
    if (first === undefined) return undefined;
    if (first < 0x80 || first >= 0xe0) {
      this.#at += 1;
      return first < 0x80 ? first : first - 0x100;
    }
    if (first < FLOAT_32 || first > INT_64) return undefined;
    this.#at += 1;
    if (first !== UINT_64 && first !== INT_64) return this.#number(first);
    const at = this.#skip(8);
    const high = first === INT_64 ? this.bytes.readInt32BE(at) : this.bytes.readUInt32BE(at);
    return high * TWO_32 + this.bytes.readUInt32BE(at + 4);
  }

  /** A view of the next bytes. */
  take(length: number): Buffer {
    const at = this.#skip(length);
    return this.bytes.subarray(at, this.#at);
  }

  /**
   * Takes the byte string of `length` whose head was just read, and those behind it that have the same head: at most `most`.
   * The view begins with the first content and ends with the last one. Two contents are `apartBytes` apart.
   */
  takeAlike(length: number, most: number): { readonly bytes: Buffer; readonly apartBytes: number } {
    const { bytes } = this;
    const headAt = this.#headAt;
    const headBytes = this.#at - headAt;
    const apartBytes = headBytes + length;
    const start = this.#skip(length);
    for (let count = 1; count < most && apartBytes <= this.left; count++) {
      if (bytes.compare(bytes, headAt, headAt + headBytes, this.#at, this.#at + headBytes) !== 0) break;
      this.#at += apartBytes;
    }
    return { bytes: bytes.subarray(start, this.#at), apartBytes };
  }

  assertLeft(length: number): void {
    if (length > this.left) throw invalid('the body is not msgpack: it ends too early');
  }

  assertEnd(): void {
    if (this.left > 0)
      throw invalid(`the body is not msgpack: ${counted(this.left, 'byte follows', 'bytes follow')} its value`);
  }

  /** Skips the next bytes. Returns their position. */
  #skip(length: number): number {
    this.assertLeft(length);
    this.#at += length;
    return this.#at - length;
  }

  #number(first: number): number {
    switch (first) {
      case 0xca:
        return this.bytes.readFloatBE(this.#skip(4));
      case 0xcb:
        return this.bytes.readDoubleBE(this.#skip(8));
      case 0xcc:
        return this.bytes.readUInt8(this.#skip(1));
      case 0xcd:
        return this.bytes.readUInt16BE(this.#skip(2));
      case 0xce:
        return this.bytes.readUInt32BE(this.#skip(4));
      case 0xd0:
        return this.bytes.readInt8(this.#skip(1));
      case 0xd1:
        return this.bytes.readInt16BE(this.#skip(2));
      case 0xd2:
        return this.bytes.readInt32BE(this.#skip(4));
      default:
        throw invalid(`the body has a value of msgpack type 0x${first.toString(16)}, which JSON has no counterpart of`);
    }
  }
}
