/** Builds index files of hnswlib byte by byte, with any label and any damage; its own interfaces cannot. */

interface Element {
  readonly label: bigint;
  readonly vector: readonly number[];
  readonly isDeleted?: boolean;
}

const LINKS = 16;
const LINKS_BYTES = 4 * (1 + 2 * LINKS);
const DELETED = 0x01;
/** An element's flags are the third byte of its link count. */
const FLAGS_AT = 2;

/** An index of one level without links. Every vector has `dimension` components. */
export function hnswlibIndex(dimension: number, elements: readonly Element[]): Buffer {
  const labelAt = LINKS_BYTES + 4 * dimension;
  const sizes = [0, elements.length, elements.length, labelAt + 8, labelAt, LINKS_BYTES].map(size);
  const levels = Buffer.alloc(8);
  const graph = [LINKS, 2 * LINKS, LINKS].map(size);
  const share = Buffer.alloc(8);
  share.writeDoubleLE(1 / Math.log(LINKS));
  const bodies = elements.map(({ label, vector, isDeleted = false }) => {
    const links = Buffer.alloc(LINKS_BYTES);
    if (isDeleted) links[FLAGS_AT] = DELETED;
    return Buffer.concat([links, Buffer.from(Float32Array.from(vector).buffer), size(label)]);
  });
  return Buffer.concat([...sizes, levels, ...graph, share, size(200), ...bodies, Buffer.alloc(4 * elements.length)]);
}

function size(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
