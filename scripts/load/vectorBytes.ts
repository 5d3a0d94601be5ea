/** Reads vectors from bytes: numbers of one type, one after another, little-endian. */

import { counted } from '../terminal/line.js';
import { NUMBER_KINDS, readerOf } from './formats/numbers.js';
import { RowFault } from './source.js';

/** Types by their names in the option, with NumPy's names of their kinds. */
const KINDS = { float32: 'f4', float64: 'f8', float16: 'f2', int8: 'i1', uint8: 'u1' } as const;
const CODINGS = ['hex', 'base64'] as const;

export const VECTOR_BYTES = `${Object.keys(KINDS).join(', ')}, or one of them with ,hex or ,base64`;

/** The type and the coding of the bytes of a vector. */
export interface VectorBytes {
  readonly type: keyof typeof KINDS;
  /** The coding of bytes in a text. Undefined: a text is hex after `\x` or `0x`. */
  readonly coding: (typeof CODINGS)[number] | undefined;
}

/** Reads an option such as `float32` or `float32,hex`; undefined if it is invalid. */
export function vectorBytesIn(option: string): VectorBytes | undefined {
  const [type, coding, ...more] = option.split(',').map((part) => part.trim());
  const known = CODINGS.find((one) => one === coding);
  if (type === undefined || !Object.hasOwn(KINDS, type) || more.length > 0 || coding !== known) return undefined;
  return { type: type as keyof typeof KINDS, coding: known };
}

/** The components of a vector. Throws RowFault, which names the field. */
export function componentsIn(value: unknown, name: string, { type, coding }: VectorBytes): ArrayLike<number> {
  const bytes = typeof value === 'string' ? decoded(value, name, coding) : value;
  if (!(bytes instanceof Uint8Array))
    throw new RowFault(
      bytes === undefined || bytes === null
        ? `it has no ${name}`
        : `${name} does not hold bytes: leave out --vector-bytes`,
    );
  const kind = KINDS[type];
  const { sizeBytes } = NUMBER_KINDS[kind]!;
  if (bytes.length === 0 || bytes.length % sizeBytes !== 0)
    throw new RowFault(`${name} holds ${counted(bytes.length, 'byte')}: each component of ${type} takes ${sizeBytes}`);
  const { buffer, byteOffset, length } = bytes;
  const components = readerOf(kind, true)(Buffer.from(buffer, byteOffset, length), 0, length / sizeBytes);
  for (let i = 0; i < components.length; i++)
    if (!Number.isFinite(components[i]))
      throw new RowFault(`component ${i} of ${name} is ${components[i]}: is it ${type}?`);
  return components;
}

/** A shorter text may be a word, or a number. */
const CODED_CHARS_MIN = 8;

/** The coding in which a text seems to hold bytes. Undefined: it holds a number, or anything else. */
export function codingOf(text: string): VectorBytes['coding'] {
  const digits = text.replace(PREFIX, '');
  // JavaScript would read hex after 0x as one number.
  if (digits !== text && digits !== '' && HEX.test(digits)) return 'hex';
  if (text.length < CODED_CHARS_MIN || !Number.isNaN(Number(text))) return undefined;
  if (HEX.test(text)) return 'hex';
  return text.length % 4 === 0 && BASE64.test(text) ? 'base64' : undefined;
}

const HEX = /^(?:[0-9a-f]{2})*$/i;
const PREFIX = /^(?:\\x|0x)/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function decoded(text: string, name: string, coding: VectorBytes['coding']): Uint8Array {
  const written = text.trim();
  if (coding === 'base64') {
    if (written.length % 4 === 0 && BASE64.test(written)) return Buffer.from(written, 'base64');
    throw new RowFault(`${name} is not base64`);
  }
  if (coding === undefined && !PREFIX.test(written))
    throw new RowFault(`${name} is a text: add ,hex or ,base64 to --vector-bytes, whichever its bytes are written in`);
  const digits = written.replace(PREFIX, '');
  if (HEX.test(digits)) return Buffer.from(digits, 'hex');
  throw new RowFault(`${name} is not hex of whole bytes`);
}
