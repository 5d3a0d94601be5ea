/** Checks of event fields: the writer's assertions and the reader's refusals. */
import { isUtf8 } from 'node:buffer';
import { Malformed } from '../errors/malformed.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { DIMENSION_MAX, TIME_MAX_MS } from '../limits.js';
import { EXPIRY_BYTES } from './eventLayout.js';

/** Bytes, and a view of the same bytes. */
export interface ByteView {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Drops the subclass of `bytes`, so that its subarrays are plain Uint8Arrays. */
export function byteView({ buffer, byteOffset, length }: Uint8Array): ByteView {
  return { bytes: new Uint8Array(buffer, byteOffset, length), view: new DataView(buffer, byteOffset, length) };
}

export function writeId(view: DataView, at: number, id: number): void {
  if (id === 0) throw new RangeError('ids begin at 1');
  writeU64(view, at, id);
}

export function assertBytes(field: Uint8Array, sizeBytes: number, what: string): void {
  if (field.length !== sizeBytes) throw new RangeError(`${what} must have ${sizeBytes} bytes, not ${field.length}`);
}

export function assertDimension(dimension: number): void {
  if (!(Number.isInteger(dimension) && dimension >= 1 && dimension <= DIMENSION_MAX))
    throw new RangeError(`a dimension of ${dimension}`);
}

export function readId(view: DataView, at: number, what: string): number {
  const id = readU64(view, at);
  if (id === 0) throw new Malformed(`${what} id 0`, at);
  return id;
}

export function readDimension(view: DataView, at: number): number {
  const dimension = view.getUint32(at, true);
  if (dimension < 1 || dimension > DIMENSION_MAX) throw new Malformed(`a dimension of ${dimension}`, at);
  return dimension;
}

export function readString({ bytes }: ByteView, at: number, end: number): string {
  const utf8 = bytes.subarray(at, end);
  if (!isUtf8(utf8)) throw new Malformed('a name that is not UTF-8', at);
  return Buffer.from(utf8).toString();
}

/** Reads the last field of an event that ends at `end`. */
export function readExpiry(view: DataView, end: number): number {
  const expiresAtMs = readU64(view, end - EXPIRY_BYTES);
  if (expiresAtMs < 1 || expiresAtMs > TIME_MAX_MS)
    throw new Malformed('an expiry that no date can be', end - EXPIRY_BYTES);
  return expiresAtMs;
}

export function assertHolds(at: number, end: number, fixedBytes: number): void {
  if (end - at < fixedBytes)
    throw new Malformed(`an event of ${end - at} bytes; at least ${fixedBytes} are needed`, at);
}

export function assertLength(at: number, end: number, sizeBytes: number): void {
  if (end - at !== sizeBytes) throw new Malformed(`an event of ${end - at} bytes whose fields take ${sizeBytes}`, at);
}

export function assertZero({ bytes }: ByteView, at: number, end: number): void {
  for (let i = at; i < end; i++) if (bytes[i] !== 0) throw new Malformed('a byte that must be zero', i);
}
