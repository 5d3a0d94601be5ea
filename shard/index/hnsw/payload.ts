/**
 * The file in which hnswlib keeps a graph: a header of 96 bytes, the elements of level 0, and for each element the bytes
 * of its lists of higher levels, preceded by their number as a u32. hnswlib believes all of it.
 *
 *   element: u32 neighbour count | 2m × u32 neighbour | dimension × f32 | u64 label
 */
import { open } from 'node:fs/promises';

const HEADER_BYTES = 96;
const CAPACITY_AT = 8;
const COUNT_AT = 16;
const ELEMENT_BYTES_AT = 24;
const LABEL_AT = 32;
const VECTOR_AT = 40;
const TOP_LEVEL_AT = 48;
const ENTRY_AT = 52;
const UPPER_NEIGHBOURS_AT = 56;
const LOWER_NEIGHBOURS_AT = 64;
const NEIGHBOURS_AT = 72;
const LEVEL_FACTOR_AT = 80;
const CONSTRUCTION_WIDTH_AT = 88;

/** More than a level for every doubling of what 32 bits count is never drawn. */
const TOP_LEVEL_MAX = 64;
const LENGTH_BYTES = 4;

export interface GraphShape {
  /** Of the stored vectors, filled up with zeros. */
  readonly dimension: number;
  readonly neighbours: number;
}

export interface PayloadFacts {
  readonly count: number;
  readonly capacity: number;
}

export const elementBytes = ({ dimension, neighbours }: GraphShape): number => 4 + 8 * neighbours + 4 * dimension + 8;

/** Throws an Error of one line where the file cannot be a graph of this shape. */
export async function readPayloadFacts(path: string, shape: GraphShape): Promise<PayloadFacts> {
  const file = await open(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    const { bytesRead } = await file.read(header, 0, HEADER_BYTES, 0);
    const { size } = await file.stat();
    if (bytesRead < HEADER_BYTES) throw new Error(`an HNSW payload of ${bytesRead} bytes`);
    return checkHeader(header, size, shape);
  } finally {
    await file.close();
  }
}

function checkHeader(header: Buffer, sizeBytes: number, shape: GraphShape): PayloadFacts {
  const u64 = (at: number): number => Number(header.readBigUInt64LE(at));
  const { dimension, neighbours } = shape;
  const expected: readonly (readonly [string, number, number])[] = [
    ['start of level 0', u64(0), 0],
    ['bytes of an element', u64(ELEMENT_BYTES_AT), elementBytes(shape)],
    ['place of the label', u64(LABEL_AT), 4 + 8 * neighbours + 4 * dimension],
    ['place of the vector', u64(VECTOR_AT), 4 + 8 * neighbours],
    ['neighbours of a node', u64(NEIGHBOURS_AT), neighbours],
    ['neighbours on level 0', u64(LOWER_NEIGHBOURS_AT), 2 * neighbours],
    ['neighbours on a higher level', u64(UPPER_NEIGHBOURS_AT), neighbours],
  ];
  for (const [what, is, should] of expected)
    if (is !== should) throw new Error(`an HNSW payload whose ${what} is ${is}, not ${should}`);
  const count = u64(COUNT_AT);
  const capacity = u64(CAPACITY_AT);
  const topLevel = header.readInt32LE(TOP_LEVEL_AT);
  if (count > capacity || sizeBytes < HEADER_BYTES + count * (elementBytes(shape) + LENGTH_BYTES))
    throw new Error(`an HNSW payload of ${sizeBytes} bytes that says it holds ${count} of ${capacity} rows`);
  if (count > 0 && (topLevel < 0 || topLevel > TOP_LEVEL_MAX || header.readUInt32LE(ENTRY_AT) >= count))
    throw new Error(`an HNSW payload with no way in: level ${topLevel}, node ${header.readUInt32LE(ENTRY_AT)}`);
  return { count, capacity };
}

/** A payload without rows. */
export function emptyPayload(shape: GraphShape): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES);
  const u64 = (at: number, value: number): number => header.writeBigUInt64LE(BigInt(value), at);
  u64(CAPACITY_AT, 1);
  u64(ELEMENT_BYTES_AT, elementBytes(shape));
  u64(LABEL_AT, elementBytes(shape) - 8);
  u64(VECTOR_AT, 4 + 8 * shape.neighbours);
  header.writeInt32LE(-1, TOP_LEVEL_AT);
  header.writeUInt32LE(0xffff_ffff, ENTRY_AT);
  u64(UPPER_NEIGHBOURS_AT, shape.neighbours);
  u64(LOWER_NEIGHBOURS_AT, 2 * shape.neighbours);
  u64(NEIGHBOURS_AT, shape.neighbours);
  header.writeDoubleLE(1 / Math.log(shape.neighbours), LEVEL_FACTOR_AT);
  u64(CONSTRUCTION_WIDTH_AT, shape.neighbours);
  return header;
}
