/** Reads numbers in the forms of files. */
import { endianness } from 'node:os';

/** Reads `count` numbers that begin at byte `at`. The result may share memory with `bytes`. */
export type ReadNumbers = (bytes: Buffer, at: number, count: number) => ArrayLike<number>;

interface NumberKind {
  readonly sizeBytes: number;
  readonly read: (view: DataView, at: number, isLittle: boolean) => number;
}

/** The kinds of numbers by NumPy's names, such as `f4`. */
export const NUMBER_KINDS: Readonly<Record<string, NumberKind>> = {
  f2: { sizeBytes: 2, read: (view, at, isLittle) => halfOf(view.getUint16(at, isLittle)) },
  f4: { sizeBytes: 4, read: (view, at, isLittle) => view.getFloat32(at, isLittle) },
  f8: { sizeBytes: 8, read: (view, at, isLittle) => view.getFloat64(at, isLittle) },
  i1: { sizeBytes: 1, read: (view, at) => view.getInt8(at) },
  i2: { sizeBytes: 2, read: (view, at, isLittle) => view.getInt16(at, isLittle) },
  i4: { sizeBytes: 4, read: (view, at, isLittle) => view.getInt32(at, isLittle) },
  i8: { sizeBytes: 8, read: (view, at, isLittle) => Number(view.getBigInt64(at, isLittle)) },
  u1: { sizeBytes: 1, read: (view, at) => view.getUint8(at) },
  u2: { sizeBytes: 2, read: (view, at, isLittle) => view.getUint16(at, isLittle) },
  u4: { sizeBytes: 4, read: (view, at, isLittle) => view.getUint32(at, isLittle) },
  u8: { sizeBytes: 8, read: (view, at, isLittle) => Number(view.getBigUint64(at, isLittle)) },
};

const isLittleHere = endianness() === 'LE';

export function readerOf(kind: string, isLittle: boolean): ReadNumbers {
  const { read } = NUMBER_KINDS[kind]!;
  if (kind === 'f4' && isLittle && isLittleHere)
    return (bytes, at, count) => {
      const begin = bytes.byteOffset + at;
      if (begin % Float32Array.BYTES_PER_ELEMENT === 0) return new Float32Array(bytes.buffer, begin, count);
      return new Float32Array(Uint8Array.prototype.slice.call(bytes, at, at + 4 * count).buffer);
    };
  const { sizeBytes } = NUMBER_KINDS[kind]!;
  return (bytes, at, count) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Array.from({ length: count }, (_, i) => read(view, at + i * sizeBytes, isLittle));
  };
}

/** The number with the bits of an IEEE 754 binary16. */
function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
