/** Log proofs computed directly by RFC 9162, sections 2.1.1 to 2.1.4, over all leaves, without code of the engine. */
import { hash, toHex } from '../../../../shared/hashing/hash.js';

export const H = (...parts: readonly Uint8Array[]): Buffer => Buffer.from(hash(Buffer.concat(parts)));

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

const node = (left: Uint8Array, right: Uint8Array): Buffer => H(Buffer.of(1), left, right);

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

export function mthOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return Buffer.alloc(32);
  if (leaves.length === 1) return leaves[0]!;
  const k = split(leaves.length);
  return node(mthOf(leaves.slice(0, k)), mthOf(leaves.slice(k)));
}

export const rootOf = (size: number, mth: Uint8Array): string => toHex(H(Buffer.of(2), u64(size), mth));
export const logRootOf = (leaves: readonly Buffer[]): string => rootOf(leaves.length, mthOf(leaves));

/** SUBPROOF(m, D, false) of section 2.1.4.1. */
export function subproof(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (m === leaves.length) return [mthOf(leaves)];
  const k = split(leaves.length);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k)), mthOf(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k)), mthOf(leaves.slice(0, k))];
}

const piecesOf = (bytes: Uint8Array): Buffer[] =>
  Array.from({ length: bytes.length / 32 }, (_, i) => Buffer.from(bytes.subarray(32 * i, 32 * i + 32)));

/** The root that the path leads to (section 2.1.3.2); undefined if the path is too short or too long. */
export function checkInclusion(leaf: Uint8Array, index: number, size: number, path: Uint8Array): string | undefined {
  let fn = index;
  let sn = size - 1;
  let r: Buffer = Buffer.from(leaf);
  for (const p of piecesOf(path)) {
    if (sn === 0) return undefined;
    if (fn % 2 === 1 || fn === sn) {
      r = node(p, r);
      while (fn % 2 === 0 && fn !== 0) {
        fn >>= 1;
        sn >>= 1;
      }
    } else r = node(r, p);
    fn >>= 1;
    sn >>= 1;
  }
  return sn === 0 ? rootOf(size, r) : undefined;
}

/** Whether the nodes lead to both roots (section 2.1.4.2, where the first node is always present). */
export function checkConsistency(
  first: number,
  second: number,
  firstRoot: string,
  secondRoot: string,
  nodes: Uint8Array,
): boolean {
  if (first === 0) return nodes.length === 0 && firstRoot === rootOf(0, Buffer.alloc(32));
  if (first === second) return nodes.length === 0 && firstRoot === secondRoot;
  const path = piecesOf(nodes);
  const start = path.shift();
  if (start === undefined) return false;
  let fn = first - 1;
  let sn = second - 1;
  while (fn % 2 === 1) {
    fn >>= 1;
    sn >>= 1;
  }
  let fr: Buffer = start;
  let sr: Buffer = start;
  for (const c of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      fr = node(c, fr);
      sr = node(c, sr);
      while (fn % 2 === 0 && fn !== 0) {
        fn >>= 1;
        sn >>= 1;
      }
    } else sr = node(sr, c);
    fn >>= 1;
    sn >>= 1;
  }
  return sn === 0 && rootOf(first, fr) === firstRoot && rootOf(second, sr) === secondRoot;
}
