import { equal, fromUtf8, readU32, readU64, toUtf8 } from './bytes.js';

/** Error of bytes that do not verify. `at`: the first wrong byte, counted from the start of the reading. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** Error of a well-formed event that is impossible at its place in the log. */
export class Impossible extends Error {}

const bytesText = (count: number): string => `${count} ${count === 1 ? 'byte' : 'bytes'}`;

/** Reads bytes from front to back. Every step throws Refused, with its place, if the bytes do not fit. */
export class Reading {
  #at = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly what: string,
  ) {}

  /** A view of the next bytes. */
  take(length: number): Uint8Array {
    this.#skip(length);
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  u8(): number {
    this.#skip(1);
    return this.bytes[this.#at - 1]!;
  }

  u16(): number {
    return this.u8() + (this.u8() << 8);
  }

  u32(): number {
    this.#skip(4);
    return readU32(this.bytes, this.#at - 4);
  }

  /** Below 2^53. */
  u64(): bigint {
    this.#skip(8);
    const value = readU64(this.bytes, this.#at - 8);
    if (value >= 2n ** 53n) this.fail('holds a number of 2^53 or more');
    return value;
  }

  utf8(length: number): string {
    return fromUtf8(this.utf8Bytes(length));
  }

  /** Takes bytes that must be UTF-8. */
  utf8Bytes(length: number): Uint8Array {
    const bytes = this.take(length);
    try {
      fromUtf8(bytes);
    } catch {
      this.fail('holds a text that is not UTF-8');
    }
    return bytes;
  }

  /** Throws Refused unless the bytes begin with `text`, which is ASCII. */
  magic(text: string): void {
    if (!equal(this.take(text.length), toUtf8(text))) this.fail(`does not begin with ${text}`);
  }

  zeros(length: number): void {
    if (this.take(length).some((byte) => byte !== 0)) this.fail('has a byte that should be zero');
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  end(): void {
    if (this.left > 0) this.fail(`has ${bytesText(this.left)} too many`);
  }

  fail(problem: string): never {
    throw new Refused(`${this.what} ${problem} (by byte ${this.#at})`, this.#at);
  }

  #skip(length: number): void {
    if (length > this.left) this.fail(`ends ${bytesText(length - this.left)} early`);
    this.#at += length;
  }
}
