/** Checks write receipts from their own bytes. */
import { type Actor, actorBytes, isActor, readActor } from './actor.js';
import { equal, fromBase64url, toHex } from './bytes.js';
import { ABSENT, chainHead, stateHash, stateRoot } from './hashing.js';
import { Reading } from './reading.js';
import { type EncryptedValues, leafOf, type RecordValues } from './records.js';
import type { Moment } from './replay.js';
import { hashBeforeLast, hashFromPath, pathLength } from './tree.js';

/** A receipt in the service's form: roots and state hash in hex, `proof` in base64url, `timestamp` in seconds. */
export interface WriteReceipt {
  readonly record_id: number;
  readonly old_root: string;
  readonly new_root: string;
  readonly proof: string;
  readonly sequence: number;
  readonly timestamp: number;
  readonly state_hash: string;
  /** The actor of the proof, for people. Absent in the answers of writes. */
  readonly actor?: unknown;
}

export interface Proof {
  /** Null: the event is of version 1. */
  readonly actor: Actor | null;
  readonly kind: 'insert' | 'change';
  readonly recordId: bigint;
  readonly leaves: bigint;
  readonly sequence: bigint;
  readonly timeMs: bigint;
  readonly oldLeaf: Uint8Array;
  readonly newLeaf: Uint8Array;
  readonly chainHeadBefore: Uint8Array;
  readonly eventHash: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly configHash: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/**
 * Reasons why the receipt does not hold; empty if it does. With `record`, its values after the write, the receipt must also be
 * about exactly these values. A receipt that holds is only consistent in itself. To learn whether the service confirms it, compare
 * its hashes with published ones. Never throws, for any content of the receipt.
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
  expect(receipt.old_root === toHex(oldRootOf(proof)), 'the proof does not lead to old_root');
  expect(receipt.new_root === toHex(newRoot), 'the proof does not lead to new_root');
  expect(receipt.state_hash === toHex(stateHashOf(proof, newRoot)), 'state_hash does not follow');
  if (record !== undefined) expect(equal(leafOf(record), proof.newLeaf), 'it is not about this record');
  if (receipt.actor !== undefined)
    expect(proof.actor !== null && isActor(receipt.actor, proof.actor), 'actor is not the one of the proof');
  return problems;
}

/** Reasons why a receipt that holds in itself is not of this event of the log; empty if it is. */
export function notOfMoment(
  receipt: WriteReceipt,
  { event, actor, eventHash, headBefore, stateRootBefore, after }: Moment,
): string[] {
  const proof = readProof(receipt.proof);
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  expect(equal(proof.eventHash, eventHash), `event ${event.sequence} of the log differs`);
  expect('recordId' in event && event.recordId === proof.recordId, 'the event is about another record');
  expect(proof.timeMs === event.timeMs, 'the event is of another time');
  expect(textOf(proof.actor) === textOf(actor), 'the event has another actor');
  expect(equal(proof.chainHeadBefore, headBefore), 'other events came before it');
  expect(equal(proof.configHash, after.configHash), 'the log is of another collection');
  expect(receipt.old_root === toHex(stateRootBefore), 'old_root is not the state root of the log before the event');
  expect(receipt.new_root === toHex(after.stateRoot), 'new_root is not the state root of the log after the event');
  expect(receipt.state_hash === toHex(after.stateHash), 'state_hash is not the one of the log after the event');
  return problems;
}

const textOf = (actor: Actor | null): string => (actor === null ? '' : toHex(actorBytes(actor)));

/** Finds the receipt in an answer of the service, or a bare one. Throws an Error without a receipt. */
export function receiptIn(json: unknown): WriteReceipt {
  const receipt = (json as { receipt?: unknown } | null)?.receipt ?? json;
  const { proof, error } = (receipt ?? {}) as { readonly proof?: unknown; readonly error?: unknown };
  if (typeof error === 'string') throw new Error(`it is an error of the service: ${error}`);
  if (typeof proof !== 'string') throw new Error('it has no receipt');
  return receipt as WriteReceipt;
}

/** The problem if the answer is about another record than its receipt; empty otherwise, and for a bare receipt. */
export function notOfAnswer(json: unknown, receipt: WriteReceipt): string[] {
  const { id } = json as { id?: unknown };
  return json === receipt || id === undefined || id === receipt.record_id
    ? []
    : ['the answer is about another record than the receipt in it'];
}

/** Decodes a proof. Throws an Error if it is malformed, or describes a change that no write can make. */
export function readProof(text: string): Proof {
  const bytes = fromBase64url(text);
  if (bytes === undefined) throw new Error('the proof is not canonical base64url');
  const reading = new Reading(bytes, 'the proof');
  const version = reading.u8();
  if (version !== 1 && version !== 2) reading.fail(`has version ${version}`);
  const kind = reading.u8();
  if (kind !== 1 && kind !== 2) reading.fail(`is of kind ${kind}`);
  const siblings = reading.u8();
  reading.zeros(1);
  const actorLength = reading.u16();
  reading.zeros(2);
  if ((version === 1) !== (actorLength === 0)) reading.fail('has an actor of another version');
  const fixed = {
    kind: kind === 1 ? ('insert' as const) : ('change' as const),
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
  const proof: Proof = { ...fixed, actor: version === 1 ? null : readActor(reading.take(actorLength)) };
  reading.end();
  assertPossible(proof);
  return proof;
}

/** Throws an Error if no write can make this change. */
function assertPossible({ kind, recordId, leaves, sequence, oldLeaf, newLeaf, path }: Proof): void {
  if (recordId < 1n || recordId > leaves) throw new Error('the proof is about a record outside of its tree');
  if (sequence < leaves) throw new Error('the proof has fewer writes than records');
  if (path.length !== pathLength(recordId - 1n, leaves)) throw new Error('the proof has a path of the wrong length');
  if (kind === 'insert') {
    if (recordId !== leaves) throw new Error('the proof inserts a record that is not the last');
    if (!equal(oldLeaf, ABSENT)) throw new Error('the proof inserts a record that already existed');
    if (equal(newLeaf, ABSENT)) throw new Error('the proof inserts nothing');
  } else if (equal(oldLeaf, ABSENT)) throw new Error('the proof changes a record that did not exist');
}

/** The state root before the write, computed from the proof. */
export function oldRootOf(proof: Proof): Uint8Array {
  const { kind, leaves, path } = proof;
  if (kind === 'insert') return stateRoot(leaves - 1n, hashBeforeLast(leaves, path));
  return stateRoot(leaves, hashFromPath(proof.oldLeaf, { index: proof.recordId - 1n, size: leaves }, path));
}

const newRootOf = ({ newLeaf, recordId, leaves, path }: Proof): Uint8Array =>
  stateRoot(leaves, hashFromPath(newLeaf, { index: recordId - 1n, size: leaves }, path));

const stateHashOf = (proof: Proof, newRoot: Uint8Array): Uint8Array =>
  stateHash({ ...proof, stateRoot: newRoot, chainHead: chainHeadAfter(proof) });

/** The chain head of the log after the write. */
export const chainHeadAfter = ({ chainHeadBefore, eventHash, actor }: Proof): Uint8Array =>
  chainHead(chainHeadBefore, eventHash, actor === null ? null : actorBytes(actor));

/** Whether a field of a receipt, which may have any value, is exactly this number. */
const is = (number: unknown, value: bigint): boolean => typeof number === 'number' && number === Number(value);
