/** Writes requests as msgpack: JSON's values, and vectors as byte strings. Refuses other values, like `exact.ts`. */

/** The first size of a `Writer`'s buffer, besides the bytes of vectors. */
const FIRST_BYTES = 1_024;
const utf8 = new TextEncoder();

/**
 * `Float32Array` becomes a byte string of little-endian float32. An object with a `toJSON` is replaced by its result.
 *
 * @throws {TypeError} for a value that JSON cannot write.
 */
export function packed(value: unknown): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.value(value);
  return writer.bytes;
}

class Writer {
  #view = new DataView(new ArrayBuffer(FIRST_BYTES));
  #at = 0;

  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#view.buffer as ArrayBuffer, 0, this.#at);
  }

  value(value: unknown): void {
    if (value === null) this.#byte(0xc0);
    else if (typeof value === 'boolean') this.#byte(value ? 0xc3 : 0xc2);
    else if (typeof value === 'number') this.#number(value);
    else if (typeof value === 'string') this.#string(value);
    else if (value instanceof Float32Array) this.#float32(value);
    else if (Array.isArray(value) || ArrayBuffer.isView(value)) this.#list(value as ArrayLike<unknown>);
    else if (typeof value === 'object') this.#map(value);
    else throw new TypeError(value === undefined ? 'undefined cannot be sent' : `a ${typeof value} cannot be sent`);
  }

  /** An object with a `toJSON` is replaced by its result, as in JSON. */
  #map(value: object): void {
    if ('toJSON' in value && typeof value.toJSON === 'function') {
      this.value(value.toJSON());
      return;
    }
    const members = Object.entries(value);
    this.#head(members.length, 0xde, 0xdf);
    for (const [key, member] of members) {
      this.#string(key);
      this.value(member);
    }
  }

  #list(items: ArrayLike<unknown>): void {
    this.#head(items.length, 0xdc, 0xdd);
    for (let i = 0; i < items.length; i++) this.value(items[i]);
  }

  #string(text: string): void {
    // `TextEncoder` would replace it, so two strings would become one.
    if (/\p{Surrogate}/u.test(text)) throw new TypeError('a string with half of a surrogate pair cannot be sent');
    const bytes = utf8.encode(text);
    this.#head(bytes.length, 0xda, 0xdb);
    this.#append(bytes);
  }

  #float32(values: Float32Array): void {
    this.#head(values.byteLength, 0xc5, 0xc6);
    this.#room(values.byteLength);
    for (let i = 0; i < values.length; i++) this.#view.setFloat32(this.#at + 4 * i, values[i]!, true);
    this.#at += values.byteLength;
  }

  #number(value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`the number ${value} cannot be sent`);
    if (Number.isInteger(value) && value >= 0 && value < 0x80) {
      this.#byte(value);
      return;
    }
    this.#byte(0xcb);
    this.#room(8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  /** Writes a length, after the type byte for lengths of 16 or of 32 bits. */
  #head(length: number, short: number, long: number): void {
    const isShort = length < 0x10000;
    this.#byte(isShort ? short : long);
    this.#room(4);
    if (isShort) this.#view.setUint16(this.#at, length);
    else this.#view.setUint32(this.#at, length);
    this.#at += isShort ? 2 : 4;
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#view.setUint8(this.#at, byte);
    this.#at += 1;
  }

  #append(bytes: Uint8Array): void {
    this.#room(bytes.length);
    new Uint8Array(this.#view.buffer).set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #room(sizeBytes: number): void {
    const needed = this.#at + sizeBytes;
    if (needed <= this.#view.byteLength) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#view.byteLength));
    larger.set(this.bytes);
    this.#view = new DataView(larger.buffer);
  }
}
