/** Checks a write receipt from its own bytes. */
import { ABSENT, chainHead, stateHash, stateRoot } from './hashing.js';
import { Reading } from './reading.js';
import { type EncryptedValues, leafOf, type RecordValues } from './records.js';
import type { Moment } from './replay.js';
import { hashBeforeLast, hashFromPath, pathLength } from './tree.js';

export interface WriteReceipt {
  readonly record_id: number;
  readonly old_root: string;
  readonly new_root: string;
  readonly proof: string;
  readonly sequence: number;
  readonly timestamp: number;
  readonly state_hash: string;
}

export interface Proof {
  readonly kind: 'insert' | 'change';
  readonly recordId: bigint;
  readonly leaves: bigint;
  readonly sequence: bigint;
  readonly timeMs: bigint;
  readonly oldLeaf: Buffer;
  readonly newLeaf: Buffer;
  readonly chainHeadBefore: Buffer;
  readonly eventHash: Buffer;
  readonly graphRoot: Buffer;
  readonly configHash: Buffer;
  readonly path: readonly Buffer[];
}

/**
 * Why the receipt does not hold; nothing where it does. With `record`, the record as it was after the write, the
 * receipt must also be about just these values. A receipt that holds is consistent in itself; that the service stands
 * by it is seen by comparing its hashes with what the service has published.
 */
export function verifyReceipt(receipt: WriteReceipt, record?: RecordValues | EncryptedValues | 'deleted'): string[] {
  let proof: Proof;
  try {
    proof = readProof(receipt.proof);
  } catch (error) {
    return [(error as Error).message];
  }
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const newRoot = newRootOf(proof);
  expect(is(receipt.record_id, proof.recordId), 'record_id is not the one of the proof');
  expect(is(receipt.sequence, proof.sequence), 'sequence is not the one of the proof');
  expect(is(receipt.timestamp, proof.timeMs / 1000n), 'timestamp is not the time of the proof');
  expect(receipt.old_root === oldRootOf(proof).toString('hex'), 'the proof does not lead to old_root');
  expect(receipt.new_root === newRoot.toString('hex'), 'the proof does not lead to new_root');
  expect(receipt.state_hash === stateHashOf(proof, newRoot).toString('hex'), 'state_hash does not follow');
  if (record !== undefined) expect(leafOf(record).equals(proof.newLeaf), 'the receipt is not about this record');
  return problems;
}

/** Why a receipt that holds in itself is not of this event of the log; nothing where it is. */
export function notOfMoment(
  receipt: WriteReceipt,
  { event, eventHash, headBefore, stateRootBefore, after }: Moment,
): string[] {
  const proof = readProof(receipt.proof);
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const hex = (hash: Buffer): string => hash.toString('hex');
  expect(proof.eventHash.equals(eventHash), `event ${event.sequence} of the log is another one`);
  expect('recordId' in event && event.recordId === proof.recordId, 'the event is about another record');
  expect(proof.timeMs === event.timeMs, 'the event is of another time');
  expect(proof.chainHeadBefore.equals(headBefore), 'other events came before it');
  expect(proof.configHash.equals(after.configHash), 'the log is of another collection');
  expect(receipt.old_root === hex(stateRootBefore), 'old_root is not the state root of the log before the event');
  expect(receipt.new_root === hex(after.stateRoot), 'new_root is not the state root of the log after the event');
  expect(receipt.state_hash === hex(after.stateHash), 'state_hash is not the one of the log after the event');
  return problems;
}

/** The receipt in an answer of the service, or alone. Throws an Error where there is none. */
export function receiptIn(json: unknown): WriteReceipt {
  const receipt = (json as { receipt?: unknown } | null)?.receipt ?? json;
  if (typeof (receipt as { proof?: unknown } | null)?.proof !== 'string') throw new Error('there is no receipt in it');
  return receipt as WriteReceipt;
}

/** Why the receipt is not the one that such an answer would hold; nothing where it is, or stands alone. */
export function notOfAnswer(json: unknown, receipt: WriteReceipt): string[] {
  const { id } = json as { id?: unknown };
  return json === receipt || id === undefined || id === receipt.record_id
    ? []
    : ['the answer is about another record than the receipt in it'];
}

/** The proof's parts. Throws where the bytes are not a proof. */
export function readProof(text: string): Proof {
  const bytes = Buffer.from(String(text), 'base64url');
  if (bytes.toString('base64url') !== text) throw new Error('the proof is not canonical base64url');
  const reading = new Reading(bytes, 'the proof');
  const version = reading.u8();
  if (version !== 1) reading.fail(`has version ${version}`);
  const kind = reading.u8();
  if (kind !== 1 && kind !== 2) reading.fail(`is of kind ${kind}`);
  const siblings = reading.u8();
  reading.zeros(5);
  const proof: Proof = {
    kind: kind === 1 ? 'insert' : 'change',
    recordId: reading.u64(),
    leaves: reading.u64(),
    sequence: reading.u64(),
    timeMs: reading.u64(),
    oldLeaf: reading.take(32),
    newLeaf: reading.take(32),
    chainHeadBefore: reading.take(32),
    eventHash: reading.take(32),
    graphRoot: reading.take(32),
    configHash: reading.take(32),
    path: Array.from({ length: siblings }, () => reading.take(32)),
  };
  reading.end();
  assertPossible(proof);
  return proof;
}

/** What no write can have done. */
function assertPossible({ kind, recordId, leaves, sequence, oldLeaf, newLeaf, path }: Proof): void {
  if (recordId < 1n || recordId > leaves) throw new Error('the proof is about a record outside of its tree');
  if (sequence < leaves) throw new Error('the proof has fewer writes than records');
  if (path.length !== pathLength(recordId - 1n, leaves)) throw new Error('the proof has a path of the wrong length');
  if (kind === 'insert') {
    if (recordId !== leaves) throw new Error('the proof inserts a record that is not the last');
    if (!oldLeaf.equals(ABSENT)) throw new Error('the proof inserts a record that was there');
    if (newLeaf.equals(ABSENT)) throw new Error('the proof inserts nothing');
  } else if (oldLeaf.equals(ABSENT)) throw new Error('the proof changes a record that was not there');
}

/** The state root before the write, as the proof leads to it. */
export function oldRootOf(proof: Proof): Buffer {
  const { kind, leaves, path } = proof;
  if (kind === 'insert') return stateRoot(leaves - 1n, hashBeforeLast(leaves, path));
  return stateRoot(leaves, hashFromPath(proof.oldLeaf, proof.recordId - 1n, leaves, path));
}

const newRootOf = ({ newLeaf, recordId, leaves, path }: Proof): Buffer =>
  stateRoot(leaves, hashFromPath(newLeaf, recordId - 1n, leaves, path));

const stateHashOf = (proof: Proof, newRoot: Buffer): Buffer =>
  stateHash({ ...proof, stateRoot: newRoot, chainHead: chainHead(proof.chainHeadBefore, proof.eventHash) });

/** The receipt's number is exactly this. A receipt may come from anywhere, so its number may be anything. */
const is = (number: unknown, value: bigint): boolean => typeof number === 'number' && number === Number(value);
