/** What does not verify. `at`: the byte at which that is seen, counted from where the reading began. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

/** An event that has its form, but says what cannot be so at its place in the log. */
export class Impossible extends Error {}

const bytesText = (count: number): string => `${count} ${count === 1 ? 'byte' : 'bytes'}`;

/** Reads bytes from front to back; every step that does not fit throws Refused with its place. */
export class Reading {
  #at = 0;

  constructor(
    private readonly bytes: Buffer,
    private readonly what: string,
  ) {}

  take(length: number): Buffer {
    if (length > this.left) this.fail(`ends ${bytesText(length - this.left)} early`);
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  u8 = (): number => this.take(1).readUInt8();
  u32 = (): number => this.take(4).readUInt32LE();

  /** Below 2^53. */
  u64(): bigint {
    const value = this.take(8).readBigUInt64LE();
    if (value >= 2n ** 53n) this.fail('holds a number of 2^53 or more');
    return value;
  }

  utf8(length: number): string {
    const bytes = this.take(length);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return this.fail('holds a text that is not UTF-8');
    }
  }

  zeros(length: number): void {
    if (this.take(length).some((byte) => byte !== 0)) this.fail('has a byte that should be zero');
  }

  get at(): number {
    return this.#at;
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
}
