/** Makes the examples of `docs/formats/examples.md` from the written log. */

import {
  encodeReach,
  encodeSegmentHeader,
  FRAME_PREFIX_BYTES,
  writeFramePrefix,
} from '../../../shared/log/segmentFormat.js';
import { actorBytes } from '../../../verifier/actor.js';
import { toHex, u8, u16, u64 } from '../../../verifier/bytes.js';
import { type Insert, type InsertEncrypted, readEvent, type UnderKey } from '../../../verifier/events.js';
import { ABSENT, chainHead, eventHash, H, stateHash, stateRoot } from '../../../verifier/hashing.js';
import { leafOf, type RecordValues } from '../../../verifier/records.js';
import type { Moment } from '../../../verifier/replay.js';
import { auditPath, treeHash } from '../../../verifier/tree.js';
import {
  ACTOR,
  CREATED_MS,
  momentAt,
  ORIGIN,
  rootAt,
  type WrittenLog,
  writeCheckpoint,
  writeConsistency,
  writeExport,
  writeInclusion,
  writeLog,
  writeLogOfExpiring,
  writeLogUnderKeys,
  writeLogWithActors,
} from './writtenLog.js';

export interface Example {
  readonly title: string;
  /** Hex, or JSON. */
  readonly text: string;
}

const STATE_NODE = 0x11;
const EVENT_NAMES = {
  genesis: 0,
  insert: 1,
  'insert encrypted': 3,
  'soft delete': 5,
  'update metadata': 6,
  'add node': 7,
  'add edge': 9,
  'delete edge': 11,
  'delete node': 12,
  'shred key': 13,
  delete: 17,
  'insert with an external id': 20,
  replace: 21,
  'delete many': 25,
} as const;

export async function formatExamples(): Promise<Example[]> {
  const log = writeLog();
  const named = writeLogWithActors();
  const expiring = writeLogOfExpiring();
  const keyed = writeLogUnderKeys();
  const first: WrittenLog = { ...log, frames: log.frames.slice(0, 1), events: log.events.slice(0, 3) };
  const events = Object.entries(EVENT_NAMES).map(([name, s]) => [`event ${s}, ${name}`, log.events[s]!] as const);
  const last = await momentAt(log, 2);
  const leaves = leavesOf(log);
  const atFour = await momentAt(log, 5);
  const hex: (readonly [string, Uint8Array])[] = [
    ...events,
    ['frame of the events 0 to 2', log.frames[0]!.bytes],
    ...[0, 1, 2].map((s) => [`event hash of ${s}`, eventHash(log.events[s]!)] as const),
    ...[0, 1, 2].map((s) => [`chain head after ${s}`, log.chainHeads[s]!] as const),
    ['log root of size 0', Buffer.from(rootAt(log, 0), 'hex')],
    ['log root of size 3', Buffer.from(rootAt(log, 3), 'hex')],
    ...leaves.map((leaf, i) => [`leaf of record ${i + 1}`, leaf] as const),
    ['state root of no record', stateRoot(0n, ABSENT)],
    ['state root after event 2', last.after.stateRoot],
    ['state hash after event 2', last.after.stateHash],
    ['state root after event 4', atFour.stateRootBefore],
    ['leaf of graph node 1', H(u8(0x14), u8(0), Buffer.alloc(6), u64(1n), u64(1n))],
    ['leaf of graph edge 1', H(u8(0x15), u8(8), Buffer.alloc(6), u64(1n), u64(1n), u64(2n))],
    ['graph root after event 10', (await momentAt(log, 10)).after.graphRoot],
    ['state hash after event 10', (await momentAt(log, 10)).after.stateHash],
    ['graph root after event 18', (await momentAt(log, 18)).after.graphRoot],
    ['state hash after event 19', (await momentAt(log, 19)).after.stateHash],
    ['leaf of record 7 after event 21', leafOf(replaced(log))],
    ['state hash after event 21', (await momentAt(log, 21)).after.stateHash],
    ['segment with that frame, up to the frame', segmentHead(log)],
    ['actor of version 2', ACTOR],
    ['insert of version 2', named.events[1]!],
    ['frame of events of both versions', named.frames[0]!.bytes],
    ['chain head after that insert', named.chainHeads[1]!],
    ['insert with an expiry', expiring.events[1]!],
    ['leaf of that record', expiringLeaf(expiring, 1)],
    ['leaf of an encrypted record that expires', expiringLeaf(expiring, 2)],
    ['insert under a key, with an expiry', keyed.events[2]!],
    ['leaf of the record under a key', expiringLeaf(keyed, 2)],
    ['update under its key', keyed.events[4]!],
    ['state hash after that update', (await momentAt(keyed, 4)).after.stateHash],
    ['state hash after the shred of its key and its removal', (await momentAt(keyed, 6)).after.stateHash],
    ['export of the events 0 to 2', (await writeExport(first)).bytes],
  ];
  const json: (readonly [string, object])[] = [
    ['receipt of event 2, the insert of record 2', insertReceipt(leaves, last)],
    ['receipt of event 5, the soft delete of record 2', changeReceipt(log, leaves, atFour)],
    ['receipt with an actor, of that insert', receiptWithActor(await momentAt(named, 1))],
    ['inclusion of event 1 in size 3', writeInclusion(log, 1, 3)],
    ['consistency of size 3 with size 11', writeConsistency(log, 3, 11)],
    ['consistency of size 4 with size 11', writeConsistency(log, 4, 11)],
    ['checkpoint of size 3, by the key whose seed is 32 bytes 09', await writeCheckpoint(log, 3)],
  ];
  return [
    ...hex.map(([title, bytes]) => ({ title, text: Buffer.from(bytes).toString('hex') })),
    ...json.map(([title, value]) => ({ title, text: JSON.stringify(value) })),
  ];
}

/** Leaves of records 1 to 4, all live. */
function leavesOf(log: WrittenLog): Uint8Array[] {
  const time = (s: number): bigint => BigInt(CREATED_MS + 250 * s);
  const open = { state: 'live', ...BARE } as const;
  const encrypted = (id: bigint, s: number) => ({
    ...({ state: 'live', id, tag: 7n, insertedMs: time(s), keyId: Buffer.alloc(16, 0xaa) } as const),
    nonce: Buffer.alloc(12, Number(id)),
    ciphertext: log.events[s]!.subarray(96),
    expiresAtMs: null,
  });
  const vectorOf = (s: number): Buffer => log.events[s]!.subarray(72, 80);
  const [metadata, text] = [Buffer.from('{"a":1}'), Buffer.from('one é')];
  return [
    leafOf({ ...open, id: 1n, tag: 10n, insertedMs: time(1), vector: vectorOf(1), metadata, text }),
    leafOf({ ...open, id: 2n, tag: 20n, insertedMs: time(2), vector: vectorOf(2) }),
    leafOf(encrypted(3n, 3)),
    leafOf(encrypted(4n, 4)),
  ];
}

/** Record 7 after event 21. */
const replaced = (log: WrittenLog): RecordValues => ({
  ...{ state: 'live', id: 7n, tag: 70n, insertedMs: BigInt(CREATED_MS + 250 * 21), metadata: null },
  vector: log.events[21]!.subarray(72, 80),
  text: Buffer.from('new'),
  externalId: Buffer.from('doc-7'),
  expiresAtMs: null,
});

function expiringLeaf({ events }: WrittenLog, sequence: number): Uint8Array {
  const {
    recordId: id,
    timeMs: insertedMs,
    ...values
  } = readEvent(events[sequence]!, 'it') as Insert | InsertEncrypted | UnderKey;
  return leafOf({ ...values, state: 'live', id, insertedMs });
}

const BARE = { metadata: null, text: null, externalId: null, expiresAtMs: null };

interface Write {
  readonly kind: 1 | 2;
  readonly recordId: bigint;
  readonly leaves: bigint;
  readonly oldLeaf: Uint8Array;
  readonly newLeaf: Uint8Array;
  readonly oldRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

function insertReceipt(leaves: readonly Uint8Array[], moment: Moment): object {
  const [one, two] = leaves as [Uint8Array, Uint8Array];
  const oldRoot = stateRoot(1n, one);
  return receipt(moment, { kind: 1, recordId: 2n, leaves: 2n, oldLeaf: ABSENT, newLeaf: two, oldRoot, path: [one] });
}

function receiptWithActor(moment: Moment): object {
  const { event } = moment;
  const newLeaf = leafOf({ ...(event as Insert), state: 'live', id: 1n, insertedMs: event.timeMs });
  const write = { kind: 1, recordId: 1n, leaves: 1n, oldLeaf: ABSENT, newLeaf, path: [] } as const;
  return receipt(moment, { ...write, oldRoot: stateRoot(0n, ABSENT) });
}

function changeReceipt(log: WrittenLog, leaves: readonly Uint8Array[], moment: Moment): object {
  const vector = log.events[2]!.subarray(72);
  const insertedMs = BigInt(CREATED_MS + 500);
  const record = { state: 'tombstoned', id: 2n, tag: 20n, insertedMs, vector, ...BARE } as const;
  const oldRoot = stateRoot(4n, treeHash(leaves, STATE_NODE));
  const path = auditPath(1, leaves);
  const [oldLeaf, newLeaf] = [leaves[1]!, leafOf(record)];
  return receipt(moment, { kind: 2, recordId: 2n, leaves: 4n, oldLeaf, newLeaf, oldRoot, path });
}

function receipt({ after, actor, eventHash: hash, headBefore }: Moment, write: Write): object {
  const { sequence, timeMs, stateRoot: newRoot, graphRoot, configHash } = after;
  const numbers = [write.recordId, write.leaves, sequence, timeMs].map(u64);
  const hashes = [write.oldLeaf, write.newLeaf, headBefore, hash, graphRoot, configHash];
  const beside = actor === null ? Buffer.alloc(0) : actorBytes(actor);
  const version = actor === null ? 1 : 2;
  const head = [u8(version), u8(write.kind), u8(write.path.length), u8(0), u16(beside.length), u16(0)];
  const chainHeadAfter = chainHead(headBefore, hash, actor === null ? null : beside);
  const facts = { configHash, stateRoot: newRoot, graphRoot, chainHead: chainHeadAfter, sequence, timeMs };
  return {
    record_id: Number(write.recordId),
    old_root: toHex(write.oldRoot),
    new_root: toHex(newRoot),
    proof: Buffer.concat([...head, ...numbers, ...hashes, ...write.path, beside]).toString('base64url'),
    sequence: Number(sequence),
    timestamp: Math.floor(Number(timeMs) / 1000),
    state_hash: toHex(stateHash(facts)),
  };
}

/** Segment head as the engine writes it. */
function segmentHead(log: WrittenLog): Buffer {
  const header = Buffer.from(encodeSegmentHeader({ collectionId: ORIGIN.id, base: 0 }));
  const frame = log.frames[0]!.bytes;
  const end = header.length + FRAME_PREFIX_BYTES + frame.length;
  header.set(encodeReach({ head: header.length, end, next: 0 }), 32);
  const frameHeader = new Uint8Array(FRAME_PREFIX_BYTES);
  writeFramePrefix(frameHeader, frame, header.length);
  return Buffer.concat([header, frameHeader]);
}
