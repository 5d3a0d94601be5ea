/**
 * Receipts: the proof of a write's effect, verifiable from the receipt alone. Integers little-endian, by offset:
 *
 *     0  u8 version (1 without an actor, 2) | u8 kind (1 insert, 2 change) | u8 path length p | 0 | u16 actor length | 0^2.
 *     8  u64 record_id | u64 leaves after | u64 sequence | u64 time_ms.
 *    40  old leaf | new leaf | chain head before | event hash | graph root | config hash (32 each).
 *   232  p siblings, 32 each, bottom first | actor.
 *
 * The path leads from the old leaf to the old root, and from the new leaf to the new root. So the write changed this
 * record only. An insert has no old leaf: its siblings alone make the earlier tree. The new root and the rest of the
 * proof give the state hash.
 */
import { toHex } from '../../shared/hashing/hash.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { ACTOR_BYTES_MAX, actorSizeBytes, writeActor } from '../../shared/log/actorCodec.js';
import type { Actor } from '../../shared/model/actor.js';
import type { Receipt } from '../../shared/model/receipt.js';
import { copyHash, foldPath, foldWithoutLeaf } from './merkleNode.js';
import { stateHash } from './stateHash.js';
import { hashStateNode, type StatedRoot, stateRoot, type TreeWrite } from './stateTree.js';

export interface WriteFacts {
  readonly recordId: number;
  readonly sequence: number;
  readonly timeMs: number;
  /** Null: the event is of version 1. */
  readonly actor: Actor | null;
  readonly chainHeadBefore: Uint8Array;
  /** After the event. */
  readonly chainHead: Uint8Array;
  readonly eventHash: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly configHash: Uint8Array;
}

const PROOF_VERSION = { withoutActor: 1, withActor: 2 } as const;
const ACTOR_LENGTH_AT = 4;
const KIND = { insert: 1, change: 2 } as const;
const HASHES_AT = 40;
const PATH_AT = HASHES_AT + 6 * HASH_BYTES;
/** A tree has fewer than 2^32 leaves. */
const PATH_HASHES_MAX = 32;

/**
 * Computes both roots from the path: two hashes per sibling. One per sibling is enough if `previous` is the receipt of the event
 * before, whose new root is the old root.
 */
export function makeReceipt(facts: WriteFacts, write: TreeWrite, previous?: StatedRoot): Receipt {
  const { recordId, sequence, timeMs, chainHead, graphRoot, configHash } = facts;
  const newRoot = stateRoot(write.leaves, mthWith(write.newLeaf, recordId, write));
  return {
    record_id: recordId,
    old_root: previous?.sequence === sequence - 1 ? previous.new_root : toHex(oldRoot(recordId, write)),
    new_root: toHex(newRoot),
    proof: proofText(facts, write),
    sequence,
    timestamp: Math.floor(timeMs / 1000),
    state_hash: toHex(stateHash({ configHash, stateRoot: newRoot, graphRoot, chainHead, sequence, timeMs })),
  };
}

/** Returns the JSON of a receipt. Its texts need no escapes, and `JSON.stringify` takes four times as long to find that out. */
export const receiptJson = (receipt: Receipt): string =>
  `{"record_id":${receipt.record_id},"old_root":"${receipt.old_root}","new_root":"${receipt.new_root}",` +
  `"proof":"${receipt.proof}","sequence":${receipt.sequence},"timestamp":${receipt.timestamp},` +
  `"state_hash":"${receipt.state_hash}"}`;

const mthWith = (leaf: Uint8Array, recordId: number, { leaves, path }: TreeWrite): Uint8Array =>
  foldPath(leaf, { index: recordId - 1, leaves }, path, hashStateNode);

function oldRoot(recordId: number, write: TreeWrite): Uint8Array {
  return write.kind === 'insert'
    ? stateRoot(write.leaves - 1, foldWithoutLeaf(write.path, hashStateNode))
    : stateRoot(write.leaves, mthWith(write.oldLeaf, recordId, write));
}

/** Room for the longest proof, which memory of its own would make garbage for each receipt. */
const bytes = Buffer.alloc(PATH_AT + PATH_HASHES_MAX * HASH_BYTES + ACTOR_BYTES_MAX);
const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

function proofText(facts: WriteFacts, write: TreeWrite): string {
  const { actor } = facts;
  const actorBytes = actor === null ? 0 : actorSizeBytes(actor);
  const pathEnd = PATH_AT + write.path.length;
  bytes[0] = actor === null ? PROOF_VERSION.withoutActor : PROOF_VERSION.withActor;
  bytes[1] = KIND[write.kind];
  bytes[2] = write.path.length / HASH_BYTES;
  view.setUint16(ACTOR_LENGTH_AT, actorBytes, true);
  writeU64(view, 8, facts.recordId);
  writeU64(view, 16, write.leaves);
  writeU64(view, 24, facts.sequence);
  writeU64(view, 32, facts.timeMs);
  copyHash(write.oldLeaf, 0, bytes, HASHES_AT);
  copyHash(write.newLeaf, 0, bytes, HASHES_AT + HASH_BYTES);
  copyHash(facts.chainHeadBefore, 0, bytes, HASHES_AT + 2 * HASH_BYTES);
  copyHash(facts.eventHash, 0, bytes, HASHES_AT + 3 * HASH_BYTES);
  copyHash(facts.graphRoot, 0, bytes, HASHES_AT + 4 * HASH_BYTES);
  copyHash(facts.configHash, 0, bytes, HASHES_AT + 5 * HASH_BYTES);
  bytes.set(write.path, PATH_AT);
  if (actor !== null) writeActor(actor, bytes, pathEnd);
  return bytes.toString('base64url', 0, pathEnd + actorBytes);
}
