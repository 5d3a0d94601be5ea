/**
 * The rows file of a saved generation, little-endian:
 *
 *   "VIRW" | u32 version | u32 rows | u32 left out | f64 record id × rows, by ordinal | u32 ordinal × left out, ascending
 */
import { BitSet } from '../../kernel/bitSet.js';
import { DamagedGeneration, UnknownGeneration } from './manifest.js';

const MAGIC = 0x57_52_49_56;
const VERSION = 1;
const HEADER_WORDS = 4;
const HEADER_BYTES = 4 * HEADER_WORDS;

export interface SavedRows {
  /** Record of each ordinal. */
  readonly recordIds: Float64Array;
  /** Ordinals of rows that the index does not find: dead ones, and those that the builder left out. */
  readonly leftOut: Iterable<number> & Pick<BitSet, 'has'>;
}

export interface RowsToSave {
  readonly recordIds: Float64Array;
  /** Ordinals in any order, repeated or not. */
  readonly leftOut: Iterable<number>;
}

export function encodeRows({ recordIds, leftOut }: RowsToSave): Uint8Array {
  const ordinals = Uint32Array.from(bitSetOf(leftOut, recordIds.length));
  const bytes = new Uint8Array(HEADER_BYTES + recordIds.byteLength + ordinals.byteLength);
  new Uint32Array(bytes.buffer, 0, HEADER_WORDS).set([MAGIC, VERSION, recordIds.length, ordinals.length]);
  new Float64Array(bytes.buffer, HEADER_BYTES, recordIds.length).set(recordIds);
  new Uint32Array(bytes.buffer, HEADER_BYTES + recordIds.byteLength).set(ordinals);
  return bytes;
}

/**
 * Decodes the bytes, which must begin their buffer. The record ids are a view of them. `rowCount`: that of the manifest.
 * Throws DamagedGeneration, or UnknownGeneration.
 */
export function decodeRows({ buffer, byteLength }: Uint8Array, rowCount: number): SavedRows {
  if (byteLength < HEADER_BYTES) throw new DamagedGeneration('the file rows ends within its header');
  const [magic, version, rows, left] = new Uint32Array(buffer, 0, HEADER_WORDS);
  if (magic !== MAGIC) throw new DamagedGeneration('the file rows does not begin with "VIRW"');
  if (version !== VERSION)
    throw new UnknownGeneration(`the file rows has version ${version}; this program reads version ${VERSION}`);
  if (rows !== rowCount || byteLength !== HEADER_BYTES + 8 * rows + 4 * left!)
    throw new DamagedGeneration(`the file rows has ${rows} rows in ${byteLength} bytes; the manifest has ${rowCount}`);
  const recordIds = new Float64Array(buffer, HEADER_BYTES, rows);
  const ordinals = new Uint32Array(buffer, HEADER_BYTES + recordIds.byteLength, left);
  for (const ordinal of ordinals)
    if (ordinal >= rows) throw new DamagedGeneration(`the file rows leaves out row ${ordinal} of ${rows}`);
  return { recordIds, leftOut: bitSetOf(ordinals, rows) };
}

function bitSetOf(ordinals: Iterable<number>, rows: number): BitSet {
  const set = BitSet.ofSize(rows);
  for (const ordinal of ordinals) set.add(ordinal);
  return set;
}
