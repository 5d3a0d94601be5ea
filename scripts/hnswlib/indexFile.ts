/**
 * The head of an index file of hnswlib, written by its `saveIndex`: little-endian, `size_t` of 64 bits. The vectors follow:
 *
 *   links of the lowest level | vector, float32 | label, u64      for each vector
 *   u32 length | links of the higher levels                       for each vector
 */
import { DIMENSION_MAX } from '../../shared/limits.js';
import { openFile } from '../../verifier/node/index.js';
import { counted } from '../terminal/line.js';

const HEAD_BYTES = 96;
const LABEL_BYTES = 8;
const COMPONENT_BYTES = 4;
const LENGTH_BYTES = 4;
/** Largest number of vectors, since links are u32. */
const MOST = 2 ** 32;

/** Positions, in bytes, of the numbers read here. */
const AT = { levelOffset: 0, most: 8, count: 16, element: 24, label: 32, vector: 40, links: 64 } as const;

export interface IndexFacts {
  /** Vectors, including those that are marked as deleted. */
  readonly count: number;
  readonly dimension: number;
}

/**
 * Checks the head, which hnswlib-node does not: given a wrong dimension or another file, that reads beyond its vectors. Throws an
 * Error of one line, with `name` for the file.
 */
export async function indexFacts(path: string, name: string): Promise<IndexFacts> {
  const file = await openFile(path);
  try {
    const head = file.sizeBytes < HEAD_BYTES ? undefined : await file.take(HEAD_BYTES);
    if (head === undefined)
      throw new Error(`${name} is not an index of hnswlib: it has ${counted(file.sizeBytes, 'byte')}`);
    return factsIn(Buffer.from(head), file.sizeBytes, name);
  } finally {
    await file.close();
  }
}

function factsIn(head: Buffer, sizeBytes: number, name: string): IndexFacts {
  const at = (byte: number): number => Number(head.readBigUInt64LE(byte));
  const [count, elementBytes] = [at(AT.count), at(AT.element)];
  const dimension = (at(AT.label) - at(AT.vector)) / COMPONENT_BYTES;
  const isIndex =
    at(AT.levelOffset) === 0 &&
    at(AT.vector) === LENGTH_BYTES * (1 + at(AT.links)) &&
    elementBytes === at(AT.label) + LABEL_BYTES &&
    count <= at(AT.most) &&
    at(AT.most) <= MOST;
  if (!isIndex || !Number.isInteger(dimension) || dimension < 1 || dimension > DIMENSION_MAX)
    throw new Error(
      `${name} is not an index of hnswlib's HierarchicalNSW with 1 to ${DIMENSION_MAX} components of float32`,
    );
  if (sizeBytes < HEAD_BYTES + count * (elementBytes + LENGTH_BYTES))
    throw new Error(
      `${name} is cut short: ${counted(sizeBytes, 'byte does', 'bytes do')} not hold its ${counted(count, 'vector')}`,
    );
  return { count, dimension };
}
