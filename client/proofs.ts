/** Checks proofs on this machine by the documented formats alone, without a request to the service and without trust in it. */
import {
  type Checkpoint,
  chainHeadAfter,
  verifyCheckpoint as checkCheckpoint,
  verifyConsistency as checkConsistency,
  verifyInclusion as checkInclusion,
  verifyLogged as checkLogged,
  verifyReceipt as checkReceipt,
  claimedRecord,
  parsePolicy,
  readProof,
  toHex,
} from '../verifier/index.js';
import type { WriteReceipt } from '../verifier/receipt.js';
import type { CheckpointResponse, ConsistencyResponse, InclusionResponse } from './contract/proofs.js';
import type { Receipt } from './contract/records.js';
import { ProofError } from './errors.js';
import { assertExactJson, assertKnown, assertOptions, assertPlain } from './exact.js';
import { toWire } from './spelling.js';
import type { JsonObject, Vector } from './values.js';

/** A record as you sent it, to compare with a receipt. */
export interface SentRecord {
  readonly values: Vector;
  readonly tag?: number | undefined;
  /** The object that was sent, its JSON text, or the bytes of that text. */
  readonly metadata?: JsonObject | string | readonly number[] | null | undefined;
  readonly text?: string | null | undefined;
  readonly externalId?: string | undefined;
  readonly requestId?: string | undefined;
  /** Unix seconds, as reads show it. */
  readonly expiresAt?: number | undefined;
  /** The key that it is under, as answers show it; it needs `salt` too. */
  readonly keyId?: string | undefined;
  /** The salt of a record under a key, which `get` answers `with: ['salt']`. */
  readonly salt?: string | undefined;
  /** Time of its insert, Unix milliseconds. Needed if the receipt is of a change that keeps the record, and so its insert time. */
  readonly insertedMs?: number | undefined;
  /** The state after the write. Default `live`; a soft delete leaves the record `tombstoned`. */
  readonly state?: 'live' | 'tombstoned' | undefined;
}

export interface VerifiedReceipt {
  readonly kind: 'insert' | 'change';
  readonly recordId: number;
  /** The number of the write's event in the collection's log. */
  readonly sequence: number;
  /** Unix milliseconds. */
  readonly timeMs: number;
  /** The chain head after the write, in hex: an inclusion proof has it too. */
  readonly chainHead: string;
  readonly stateHash: string;
}

/** A log at one size; hashes in hex. */
export interface LogAt {
  /** The number of events, including the genesis. */
  readonly size: number;
  readonly root: string;
}

export interface VerifiedInclusion {
  readonly sequence: number;
  readonly log: LogAt;
  readonly chainHead: string;
}

export interface VerifiedConsistency {
  readonly from: LogAt;
  readonly to: LogAt;
}

/** Hashes and key in hex. */
export interface VerifiedCheckpoint extends LogAt {
  readonly origin: {
    readonly project: string;
    readonly name: string;
    readonly id: number;
    readonly configHash: string;
  };
  readonly chainHead: string;
  readonly stateHash: string;
  /** Unix milliseconds of the signature. */
  readonly timeMs: number;
  readonly publicKey: string;
}

/**
 * Verifies that a receipt is consistent in itself. With a `record`, verifies also that the record has exactly these values after the
 * write. With `record: 'deleted'`, verifies that the write deletes it. Throws ProofError.
 */
export function verifyReceipt(
  receipt: Receipt,
  claims: { readonly record?: SentRecord | 'deleted' } = {},
): VerifiedReceipt {
  assertOptions(claims, ['record'], 'claims');
  const { record } = claims;
  if (record !== undefined && record !== 'deleted') assertRecord(record);
  return proving('the receipt', () => {
    const wire = toWire(receipt) as WriteReceipt;
    const proof = readProof(wire.proof);
    const values = record === undefined || record === 'deleted' ? record : claimedRecord(toWire(record), proof).values;
    const problems = checkReceipt(wire, values);
    if (problems.length > 0) throw new Error(problems.join('; '));
    return {
      kind: proof.kind,
      recordId: Number(proof.recordId),
      sequence: Number(proof.sequence),
      timeMs: Number(proof.timeMs),
      chainHead: toHex(chainHeadAfter(proof)),
      stateHash: receipt.stateHash,
    };
  });
}

/**
 * Verifies that an event is in a log. With `receipt`, also that it is the event of that receipt; with `checkpoint`, that the
 * log is the signed one. Throws ProofError.
 */
export function verifyInclusion(
  inclusion: InclusionResponse,
  claims: { readonly receipt?: Receipt; readonly checkpoint?: CheckpointResponse } = {},
): VerifiedInclusion {
  assertOptions(claims, ['receipt', 'checkpoint'], 'claims');
  const { receipt, checkpoint } = claims;
  const write = receipt && verifyReceipt(receipt);
  const signed = checkpoint && verifyCheckpoint(checkpoint);
  return proving('the inclusion', () => {
    const { sequence, log, chainHead: head } = checkInclusion(toWire(inclusion));
    const found = { sequence: Number(sequence), log: logOf(log), chainHead: toHex(head) };
    if (write !== undefined && (write.sequence !== found.sequence || write.chainHead !== found.chainHead))
      throw new Error('the receipt is of another event');
    if (signed !== undefined) assertSame(found.log, signed, 'the checkpoint');
    return found;
  });
}

/**
 * Verifies that a log begins with an earlier one. `from`, `to`: the signed checkpoint that the earlier or later log must equal.
 * Throws ProofError.
 */
export function verifyConsistency(
  consistency: ConsistencyResponse,
  claims: { readonly from?: CheckpointResponse; readonly to?: CheckpointResponse } = {},
): VerifiedConsistency {
  assertOptions(claims, ['from', 'to'], 'claims');
  const { from, to } = claims;
  const [earlier, later] = [from && verifyCheckpoint(from), to && verifyCheckpoint(to)];
  return proving('the consistency', () => {
    const proved = checkConsistency(toWire(consistency));
    const found = { from: logOf(proved.from), to: logOf(proved.to) };
    if (earlier !== undefined) assertSame(found.from, earlier, 'the earlier checkpoint');
    if (later !== undefined) assertSame(found.to, later, 'the later checkpoint');
    const [before, after] = [earlier, later].map((signed) => signed && placeOf(signed));
    // An imported collection begins with the log of its source, so equal logs do not show that it is the same collection.
    if (before !== undefined && after !== undefined && before !== after)
      throw new Error(`the earlier checkpoint is of ${before}, the later one of ${after}`);
    return found;
  });
}

/** Names the only key that may have signed; without one, any key may. */
export interface Signer {
  /** 64 hex digits. */
  readonly publicKey?: string | undefined;
}

/** The named key. Throws TypeError if it is not a key: an unset variable must not mean that any key may have signed. */
export function signerOf(signer: Signer): string | undefined {
  assertPlain(signer, 'signer');
  assertKnown(signer, ['publicKey'], 'signer');
  if (!('publicKey' in signer)) return undefined;
  const { publicKey } = signer;
  if (publicKey === undefined || !/^[0-9a-f]{64}$/i.test(publicKey))
    throw new TypeError(`publicKey: expected 64 hex digits, got ${publicKey}; leave it out to take any signer`);
  return publicKey.toLowerCase();
}

/** Verifies the signature. Throws ProofError. */
export function verifyCheckpoint(checkpoint: CheckpointResponse, signer: Signer = {}): VerifiedCheckpoint {
  const publicKey = signerOf(signer);
  return proving('the checkpoint', () => verifiedCheckpoint(checkCheckpoint(toWire(checkpoint), publicKey)));
}

/** A checkpoint, and the checkpoint of the service log that contains it. */
export interface VerifiedLogged {
  readonly checkpoint: VerifiedCheckpoint;
  readonly log: {
    readonly origin: string;
    /** Number of entries. */
    readonly size: number;
    /** The number of the entry, from 0. */
    readonly index: number;
    /** The witnesses that cosigned: the name in the policy, and the time of the cosignature in Unix seconds. */
    readonly witnesses: readonly { readonly name: string; readonly timeSecs: number }[];
  };
}

/**
 * Verifies that a checkpoint, as answered to a request with `logged`, is in a service log that the policy accepts. `policy` is
 * its text (c2sp.org/tlog-policy). Throws ProofError.
 */
export function verifyLogged(checkpoint: CheckpointResponse, policy: string, signer: Signer = {}): VerifiedLogged {
  const publicKey = signerOf(signer);
  return proving('the checkpoint', () => {
    const found = checkLogged(toWire(checkpoint), parsePolicy(policy), publicKey);
    const { origin, size, index, witnesses } = found.log;
    return { checkpoint: verifiedCheckpoint(found.checkpoint), log: { origin, size, index, witnesses } };
  });
}

const verifiedCheckpoint = ({ origin, size, timeMs, ...hashes }: Checkpoint): VerifiedCheckpoint => ({
  ...hashes,
  origin: { ...origin, id: Number(origin.id) },
  size: Number(size),
  timeMs: Number(timeMs),
});
const RECORD_FIELDS: Readonly<Record<keyof SentRecord, true>> = {
  ...{ values: true, tag: true, metadata: true, text: true, externalId: true, requestId: true },
  ...{ expiresAt: true, keyId: true, salt: true, insertedMs: true, state: true },
};

/** Refuses a field that would be skipped, so that the receipt would hold for another record too. */
function assertRecord(record: SentRecord): void {
  assertPlain(record, 'record');
  assertKnown(record, Object.keys(RECORD_FIELDS), 'record');
  assertExactJson(record.metadata ?? null, 'record.metadata');
}

const logOf = ({ size, root }: { readonly size: bigint; readonly root: Uint8Array }): LogAt => ({
  size: Number(size),
  root: toHex(root),
});

const placeOf = ({ origin: { project, name, id } }: VerifiedCheckpoint): string => `${project}/${name}, id ${id}`;

function assertSame(log: LogAt, signed: LogAt, what: string): void {
  if (log.size !== signed.size || log.root !== signed.root) throw new Error(`${what} is of another log`);
}

/** Throws the error of `check` as a ProofError. */
export function proving<T>(what: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new ProofError('proof', `${what} does not hold: ${(error as Error).message}`, { cause: error });
  }
}
