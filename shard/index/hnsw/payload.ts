/**
 * The file format of hnswlib: a header of 96 bytes, the elements of level 0, and for each element the bytes of its lists
 * of higher levels, preceded by their number as a u32. hnswlib checks none of it.
 *
 *   element: u32 neighbour count | 2m × u32 neighbour | dimension × f32 | u64 label
 */
import { open } from 'node:fs/promises';

const HEADER_BYTES = 96;
const CAPACITY_AT = 8;
const COUNT_AT = 16;
const TOP_LEVEL_AT = 48;
const ENTRY_AT = 52;
const LEVEL_FACTOR_AT = 80;
const CONSTRUCTION_WIDTH_AT = 88;

/** Above any level that is drawn for 2^32 nodes. */
const TOP_LEVEL_MAX = 64;
const LENGTH_BYTES = 4;

export interface GraphShape {
  /** The dimension of the stored vectors, which are filled up with zeros. */
  readonly dimension: number;
  readonly neighbours: number;
}

export const elementBytes = ({ dimension, neighbours }: GraphShape): number => 4 + 8 * neighbours + 4 * dimension + 8;

/** Returns the number of rows. Throws an Error of one line where the file cannot be a graph of this shape. */
export async function readRowCount(path: string, shape: GraphShape): Promise<number> {
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

/** Returns the fields of the header that follow from the shape: name, offset and value, each a u64. */
function layoutOf(shape: GraphShape): readonly (readonly [name: string, at: number, value: number])[] {
  const { dimension, neighbours } = shape;
  return [
    ['start of level 0', 0, 0],
    ['bytes of an element', 24, elementBytes(shape)],
    ['place of the label', 32, 4 + 8 * neighbours + 4 * dimension],
    ['place of the vector', 40, 4 + 8 * neighbours],
    ['neighbours of a node', 72, neighbours],
    ['neighbours on level 0', 64, 2 * neighbours],
    ['neighbours on a higher level', 56, neighbours],
  ];
}

function checkHeader(header: Buffer, sizeBytes: number, shape: GraphShape): number {
  const u64 = (at: number): number => Number(header.readBigUInt64LE(at));
  for (const [name, at, value] of layoutOf(shape))
    if (u64(at) !== value) throw new Error(`an HNSW payload whose ${name} is ${u64(at)}, not ${value}`);
  const count = u64(COUNT_AT);
  const capacity = u64(CAPACITY_AT);
  const topLevel = header.readInt32LE(TOP_LEVEL_AT);
  if (count > capacity || sizeBytes < HEADER_BYTES + count * (elementBytes(shape) + LENGTH_BYTES))
    throw new Error(`an HNSW payload of ${sizeBytes} bytes that says it holds ${count} of ${capacity} rows`);
  if (count > 0 && (topLevel < 0 || topLevel > TOP_LEVEL_MAX || header.readUInt32LE(ENTRY_AT) >= count))
    throw new Error(`an HNSW payload with no way in: level ${topLevel}, node ${header.readUInt32LE(ENTRY_AT)}`);
  return count;
}

/** Returns a payload without rows. */
export function emptyPayload(shape: GraphShape): Uint8Array {
  const header = Buffer.alloc(HEADER_BYTES);
  for (const [, at, value] of layoutOf(shape)) header.writeBigUInt64LE(BigInt(value), at);
  header.writeBigUInt64LE(1n, CAPACITY_AT);
  header.writeInt32LE(-1, TOP_LEVEL_AT);
  header.writeUInt32LE(0xffff_ffff, ENTRY_AT);
  header.writeDoubleLE(1 / Math.log(shape.neighbours), LEVEL_FACTOR_AT);
  header.writeBigUInt64LE(BigInt(shape.neighbours), CONSTRUCTION_WIDTH_AT);
  return header;
}
