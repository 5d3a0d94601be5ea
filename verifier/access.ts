/** Checks an access log: each frame continues the chain and the tree of the frames before (`docs/formats.md`). */
import { concat, equal, readU32, toHex, u8, u64 } from './bytes.js';
import { counted } from './counted.js';
import { ABSENT, H } from './hashing.js';
import { type JsonObject, objectOf, parseJson, textOf, wholeOf } from './json.js';
import { Reading, Refused } from './reading.js';

const ENTRY = u8(0x30);
const CHAIN = u8(0x31);
const NODE = u8(0x32);
const ROOT = u8(0x33);
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 16;
const SIZE_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const HASH = /^[0-9a-f]{64}$/;

/** The whole log after some of its entries. Hashes are hex. */
export interface AccessHead {
  readonly size: number;
  readonly chainHead: string;
  readonly root: string;
}

export interface AccessReport {
  readonly head: AccessHead;
  /** The entries before the first one that is kept, as the log states them; undefined if none was removed. */
  readonly removed: AccessHead | undefined;
  /** Whether a claim of at least as many entries agrees with what the log states about the removed ones. */
  readonly isBeginProven: boolean;
  /** The claims of fewer entries than were removed: they can no longer be compared. */
  readonly unknown: readonly AccessHead[];
  /** The times of the first and of the last entry. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  /** The claimed heads that are not of this log, each with the reason. */
  readonly wrong: readonly { readonly claim: AccessHead; readonly reason: string }[];
}

/** The chain, and the roots of the full subtrees over the entries, left to right. */
class AccessTree {
  constructor(
    public size = 0,
    public chainHead = ABSENT,
    readonly roots: Uint8Array[] = [],
  ) {}

  append(entry: Uint8Array): void {
    let node = H(ENTRY, entry);
    this.chainHead = H(CHAIN, this.chainHead, node);
    for (let full = this.size; full % 2 === 1; full = (full - 1) / 2) node = H(NODE, this.roots.pop()!, node);
    this.roots.push(node);
    this.size += 1;
  }

  head(): AccessHead {
    const tree = this.roots.reduceRight<Uint8Array>(
      (right, left) => (right === ABSENT ? left : H(NODE, left, right)),
      ABSENT,
    );
    return { size: this.size, chainHead: toHex(this.chainHead), root: toHex(H(ROOT, u64(BigInt(this.size)), tree)) };
  }
}

/**
 * Reads all frames. The first one may state entries that were removed before it. Throws Refused if a frame does not follow from those
 * before. `collectionId`: of the log, where it is known.
 */
export async function verifyAccessLog(
  frames: AsyncIterable<Uint8Array>,
  collectionId: bigint | undefined,
  claims: readonly AccessHead[],
): Promise<AccessReport> {
  let tree = new AccessTree();
  let removed: AccessHead | undefined;
  let isBeginProven = false;
  let isFirst = true;
  const wrong: AccessReport['wrong'][number][] = [];
  let first: string | undefined;
  let last: string | undefined;
  const compare = (): void => {
    for (const claim of claims.filter(({ size }) => size === tree.size)) {
      const { chainHead, root } = tree.head();
      if (claim.chainHead !== chainHead || claim.root !== root)
        wrong.push({
          claim,
          reason: `the first ${counted(claim.size, 'entry of the log hashes', 'entries of the log hash')} to other values`,
        });
      else isBeginProven = true;
    }
  };
  for await (const frame of frames) {
    if (isFirst) {
      tree = statedBefore(frame);
      removed = tree.size === 0 ? undefined : tree.head();
      isFirst = false;
      compare();
    }
    for (const entry of entriesOf(frame, tree, collectionId)) {
      tree.append(entry);
      const time = textOf(checkedEntry(entry, tree.size), 'time');
      if (last !== undefined && time < last) throw new Refused(`entry ${tree.size} is earlier than the one before`, 0);
      first ??= time;
      last = time;
      compare();
    }
  }
  if (isFirst) compare();
  for (const claim of claims.filter(({ size }) => size > tree.size))
    wrong.push({
      claim,
      reason: `the log has ${counted(tree.size, 'entry', 'entries')}, and ${claim.size} ${claim.size === 1 ? 'was' : 'were'} there`,
    });
  const unknown = claims.filter(({ size }) => size < (removed?.size ?? 0));
  return { head: tree.head(), removed, isBeginProven, unknown, first, last, wrong };
}

/** The tree that the first frame of a log states. Throws Refused. */
function statedBefore(frame: Uint8Array): AccessTree {
  const reading = new Reading(frame, 'the first frame');
  reading.magic('VAF1');
  reading.take(12);
  const size = reading.u64();
  if (size > SIZE_MAX) reading.fail(`says that ${counted(size, 'entry is', 'entries are')} before it`);
  const chainHead = reading.take(32);
  const roots = rootsIn(reading);
  // A full subtree for each one of the size in binary.
  if (roots.length !== size.toString(2).replaceAll('0', '').length) reading.fail('states other roots before it');
  return new AccessTree(Number(size), size === 0n ? ABSENT : chainHead, roots);
}

/** At most 64: the size of a log has so many bits. */
const rootsIn = (reading: Reading): Uint8Array[] =>
  Array.from({ length: Math.min(reading.u32(), 64) }, () => reading.take(32));

function entriesOf(frame: Uint8Array, before: AccessTree, collectionId: bigint | undefined): Uint8Array[] {
  const what = `the frame after entry ${before.size}`;
  const end = frame.length - CHECKSUM_BYTES;
  if (end < 0 || !equal(H(frame.subarray(0, end)).subarray(0, CHECKSUM_BYTES), frame.subarray(end)))
    throw new Refused(`${what} does not have its checksum`, Math.max(end, 0));
  const reading = new Reading(frame.subarray(0, end), what);
  reading.magic('VAF1');
  const count = reading.u32();
  const id = reading.u64();
  if (collectionId !== undefined && id !== collectionId) reading.fail(`is of collection ${id}`);
  const size = reading.u64();
  if (size !== BigInt(before.size)) reading.fail(`says that ${counted(size, 'entry is', 'entries are')} before it`);
  if (!equal(reading.take(32), before.chainHead)) reading.fail('states another chain head before it');
  const roots = rootsIn(reading);
  if (roots.length !== before.roots.length || !roots.every((root, i) => equal(root, before.roots[i]!)))
    reading.fail('states other roots before it');
  const entries = Array.from({ length: count }, () => reading.take(reading.u32()));
  reading.end();
  if (count === 0) reading.fail('has no entry');
  return entries;
}

function checkedEntry(bytes: Uint8Array, number: number): JsonObject {
  const name = `entry ${number}`;
  const entry = objectOf(parseJson(bytes, name), name);
  if (wholeOf(entry, 'entry') !== BigInt(number)) throw new Refused(`${name} has another number`, 0);
  return entry;
}

/** The frames of a copy of the log, each after its length. Throws Refused if the copy ends within one. */
export async function* copiedFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    left = concat([left, chunk]);
    for (;;) {
      const end = left.length < LENGTH_BYTES ? Number.POSITIVE_INFINITY : LENGTH_BYTES + readU32(left, 0);
      if (end > left.length) break;
      yield left.subarray(LENGTH_BYTES, end);
      left = left.subarray(end);
    }
  }
  if (left.length > 0) throw new Refused('the copy ends within a frame', left.length);
}

/** The head in an answer of `GET /v1/access`. Throws an Error of one line. */
export function accessHeadIn(json: unknown, name: string): AccessHead {
  const page = objectOf(json, name);
  const [chainHead, root] = [textOf(page, 'chain_head'), textOf(page, 'root')];
  for (const hash of [chainHead, root])
    if (!HASH.test(hash)) throw new Error(`${name} has a hash that is not 64 lowercase hex digits`);
  return { size: Number(wholeOf(page, 'size')), chainHead, root };
}
