/**
 * A small log with every type of event, its export, and proofs about it, written byte by byte from `docs/formats.md`
 * alone.
 */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { toHex, u8, u16, u32, u64 } from '../../../verifier/bytes.js';
import { chainHead, eventHash, H, logRoot } from '../../../verifier/hashing.js';
import { verifyFrames } from '../../../verifier/log.js';
import '../../../verifier/node/index.js';
import type { Moment } from '../../../verifier/replay.js';
import { auditPath, treeHash } from '../../../verifier/tree.js';

export const ORIGIN = { project: 'acme', name: 'notes', id: 17 } as const;
export const CREATED_MS = 1_700_000_000_000;
export const DIMENSION = 2;

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const zeros = (length: number): Buffer => Buffer.alloc(length);
export const id = (value: number): Uint8Array => u64(BigInt(value));
const filled = (length: number, value: number): Buffer => Buffer.alloc(length, value);

export const KEY_A = filled(16, 0xaa);
export const KEY_B = filled(16, 0xbb);

export const genesis = (): Buffer => {
  const { project, name } = ORIGIN;
  const lengths = [u8(1), u8(project.length), u8(name.length), u8(0)];
  return Buffer.concat([id(ORIGIN.id), u32(DIMENSION), ...lengths, utf8(project), utf8(name)]);
};

interface Given {
  readonly requestId?: Buffer;
  readonly metadata?: string;
  readonly text?: string;
  readonly externalId?: string;
  readonly expiresAtMs?: number;
}

export function insert(
  recordId: number,
  components: readonly number[],
  { requestId, metadata, text, externalId, expiresAtMs }: Given = {},
): Buffer {
  const vector = Buffer.alloc(4 * components.length);
  for (const [i, component] of components.entries()) vector.writeInt32LE(component * 65_536, 4 * i);
  const [metadataBytes, textBytes, named] = [utf8(metadata ?? ''), utf8(text ?? ''), utf8(externalId ?? '')];
  const flags =
    (requestId ? 1 : 0) +
    (metadata === undefined ? 0 : 2) +
    (text === undefined ? 0 : 4) +
    (externalId ? 8 : 0) +
    (expiresAtMs === undefined ? 0 : 16);
  const lengths = [u32(metadataBytes.length), u32(textBytes.length), u32(components.length)];
  const fixed = [
    id(recordId),
    id(10 * recordId),
    requestId ?? zeros(16),
    u8(flags),
    u8(0),
    u8(named.length),
    u8(0),
    ...lengths,
  ];
  return Buffer.concat([...fixed, vector, metadataBytes, textBytes, named, expiry(expiresAtMs)]);
}

const expiry = (expiresAtMs: number | undefined): Uint8Array =>
  expiresAtMs === undefined ? zeros(0) : id(expiresAtMs);

export function insertEncrypted(recordId: number, keyId: Buffer, requestId?: Buffer, expiresAtMs?: number): Buffer {
  const ciphertext = filled(16 + recordId, 0xc0 + recordId);
  const flag = (requestId ? 1 : 0) + (expiresAtMs === undefined ? 0 : 16);
  const flags = [u8(flag), zeros(3), u32(ciphertext.length)];
  const encrypted = [keyId, filled(12, recordId), zeros(4), ciphertext, expiry(expiresAtMs)];
  return Buffer.concat([id(recordId), id(7), requestId ?? zeros(16), ...flags, ...encrypted]);
}

/** The payload of an event under a key. */
export function underKey(recordId: number, keyId: Buffer, requestId?: Buffer, expiresAtMs?: number): Buffer {
  const ciphertext = filled(16 + recordId, 0xd0 + recordId);
  const flag = (requestId ? 1 : 0) + (expiresAtMs === undefined ? 0 : 16);
  const flags = [u8(flag), zeros(3), u32(ciphertext.length)];
  const encrypted = [
    keyId,
    filled(12, recordId),
    zeros(4),
    filled(32, 0xe0 + recordId),
    ciphertext,
    expiry(expiresAtMs),
  ];
  return Buffer.concat([id(recordId), zeros(8), requestId ?? zeros(16), ...flags, ...encrypted]);
}

export const updateMetadata = (recordId: number, metadata: string): Buffer =>
  Buffer.concat([id(recordId), u32(metadata.length), zeros(4), utf8(metadata)]);
export const deleteMany = (deleted: number): Buffer => Buffer.concat([filled(16, 0xdd), u32(deleted), zeros(4)]);
export const addNode = (nodeId: number, recordId: number, kind: number): Buffer =>
  Buffer.concat([id(nodeId), id(recordId), u8(kind), zeros(7)]);
export const addEdge = (edgeId: number, from: number, to: number, kind: number): Buffer =>
  Buffer.concat([id(edgeId), id(from), id(to), u8(kind), zeros(7)]);

/** `actor`: the actor that the frame states with an event of version 2; empty: that of the event before. */
type Payload = readonly [type: number, payload: Uint8Array, actor?: Buffer];
export type FramePayloads = readonly [live: number, ...payloads: Payload[]];

/** Key `7f3a52c0d1e9b846` on behalf of `u-17`, in request `r-1`. */
export const ACTOR = Buffer.concat([u8(16), utf8('7f3a52c0d1e9b846'), u8(4), utf8('u-17'), utf8('r-1')]);
export const SYSTEM_ACTOR = Buffer.concat([u8(6), utf8('system'), u8(0)]);
const AS_BEFORE = zeros(0);

/** Per frame, the live records after it, and its events. */
const FRAMES: readonly FramePayloads[] = [
  [
    2,
    [1, genesis()],
    [2, insert(1, [1, -0.5], { requestId: filled(16, 1), metadata: '{"a":1}', text: 'one é' })],
    [2, insert(2, [0, 3])],
  ],
  [4, [6, insertEncrypted(3, KEY_A)], [6, insertEncrypted(4, KEY_A, filled(16, 4))]],
  [3, [3, id(2)], [5, updateMetadata(1, '{"a":2}')]],
  [3, [8, addNode(1, 1, 0)], [8, addNode(2, 0, 6)], [10, addEdge(1, 1, 2, 8)], [10, addEdge(2, 2, 1, 0)]],
  [3, [11, id(1)], [9, id(2)]],
  [2, [7, KEY_A], [2, insert(5, [2, 2], { metadata: '{}' })]],
  [1, [6, insertEncrypted(6, KEY_B)], [3, id(6)], [4, id(4)], [4, id(1)]],
  [1, [8, addNode(3, 5, 1)]],
  [2, [2, insert(7, [4, 4], { metadata: '{"a":3}', externalId: 'doc-7' })]],
  [2, [12, insert(7, [5, -5], { text: 'new', externalId: 'doc-7' })]],
  [2, [3, id(7)], [2, insert(8, [6, 6], { externalId: 'doc-7' })]],
  [2, [4, id(6)], [13, deleteMany(1)]],
];

/** A log whose first event has version 1 and no actor, and whose other events have version 2. */
const FRAMES_WITH_ACTORS: readonly FramePayloads[] = [
  [2, [1, genesis()], [2, insert(1, [1, 1]), ACTOR], [2, insert(2, [2, 2]), AS_BEFORE]],
  [1, [3, id(2), SYSTEM_ACTOR]],
];

/** The expiry of both records of `writeLogOfExpiring`. */
export const EXPIRES_AT_MS = CREATED_MS + 750;

/** A log of two records under keys: inserted, replaced, changed, and shredded. */
const FRAMES_UNDER_KEYS: readonly FramePayloads[] = [
  [2, [1, genesis()], [15, underKey(1, KEY_A)], [15, underKey(2, KEY_B, filled(16, 2), EXPIRES_AT_MS + 750)]],
  [2, [16, underKey(1, KEY_B)]],
  [2, [17, underKey(2, KEY_B)]],
  [0, [7, KEY_B]],
  [0, [4, id(2)]],
];

/** A log of two records that expire, and their removal. */
const FRAMES_OF_EXPIRING: readonly FramePayloads[] = [
  [
    2,
    [1, genesis()],
    [2, insert(1, [1, 1], { metadata: '{}', externalId: 'brief', expiresAtMs: EXPIRES_AT_MS })],
    [6, insertEncrypted(2, KEY_B, undefined, EXPIRES_AT_MS)],
  ],
  [0, [4, id(1)], [4, id(2)]],
];

export interface WrittenFrame {
  readonly bytes: Buffer;
  readonly firstSequence: number;
  /** Per event, the offset of its length, and its end. */
  readonly events: readonly { readonly from: number; readonly end: number }[];
}

export interface WrittenLog {
  readonly frames: readonly WrittenFrame[];
  readonly events: readonly Buffer[];
  /** After each event. */
  readonly chainHeads: readonly Uint8Array[];
}

export const writeLog = (): WrittenLog => writeFrames(FRAMES);
export const writeLogWithActors = (): WrittenLog => writeFrames(FRAMES_WITH_ACTORS);

export const writeLogUnderKeys = (): WrittenLog => writeFrames(FRAMES_UNDER_KEYS);
export const writeLogOfExpiring = (): WrittenLog => writeFrames(FRAMES_OF_EXPIRING);

/** The log with these frames added; all their checksums and hashes are right. */
export const writeLogAnd = (...frames: readonly FramePayloads[]): WrittenLog => writeFrames([...FRAMES, ...frames]);

function writeFrames(payloadsOfFrames: readonly FramePayloads[]): WrittenLog {
  const log = { frames: [] as WrittenFrame[], events: [] as Buffer[], chainHeads: [] as Uint8Array[] };
  let logBytes = 0;
  for (const [live, ...payloads] of payloadsOfFrames) {
    const firstSequence = log.events.length;
    const headBefore = log.chainHeads.at(-1) ?? zeros(32);
    const parts = [utf8('VFR1'), u32(payloads.length), id(firstSequence), id(logBytes), id(live), headBefore];
    const events: { from: number; end: number }[] = [];
    let at = 64;
    let before: Buffer | null = null;
    for (const [type, payload, stated] of payloads) {
      const timeMs = CREATED_MS + 250 * log.events.length;
      const version = stated === undefined ? 1 : 2;
      const event = Buffer.concat([u8(version), u8(type), zeros(6), id(log.events.length), id(timeMs), payload]);
      const beside = stated === undefined ? [] : [u16(stated.length), stated];
      const actor: Buffer | null = stated?.length === 0 ? before : (stated ?? null);
      before = actor;
      const entry = Buffer.concat([u32(event.length), event, ...beside]);
      parts.push(entry);
      events.push({ from: at, end: at + entry.length });
      at += entry.length;
      log.chainHeads.push(chainHead(log.chainHeads.at(-1) ?? zeros(32), eventHash(event), actor));
      log.events.push(event);
    }
    const bytes = Buffer.concat([...parts, log.chainHeads.at(-1)!]);
    log.frames.push({ bytes: checksummed(bytes), firstSequence, events });
    logBytes += bytes.length + 16;
  }
  return log;
}

/** Appends the checksum to the rest of a frame. */
export const checksummed = (bytes: Buffer): Buffer => Buffer.concat([bytes, H(bytes).subarray(0, 16)]);

/** The verifier's view of the log right after an event; other tests check that view. */
export async function momentAt({ frames }: WrittenLog, sequence: number): Promise<Moment> {
  let found: Moment | undefined;
  const keep = (moment: Moment): void => {
    found = moment;
  };
  const watches = new Map([[BigInt(sequence), [keep]]]);
  await verifyFrames(
    frames.map(({ bytes }) => bytes),
    { watches },
  );
  return found!;
}

const SEED_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([SEED_PREFIX, filled(32, 9)]),
  format: 'der',
  type: 'pkcs8',
});
export const PUBLIC_KEY = createPublicKey(PRIVATE_KEY)
  .export({ format: 'der', type: 'spki' })
  .subarray(-32)
  .toString('hex');

/** A checkpoint in the form of the service's answer. */
export interface WrittenCheckpoint {
  readonly checkpoint: string;
  readonly signature: string;
  readonly public_key: string;
  readonly key_id: string;
}

export async function writeCheckpoint(log: WrittenLog, size: number): Promise<WrittenCheckpoint> {
  // Before the first write: the state that the genesis will make, and no chain yet.
  const { after } = await momentAt(size === 0 ? writeLog() : log, Math.max(size - 1, 0));
  const origin = `${ORIGIN.project}/${ORIGIN.name}/${ORIGIN.id}/${toHex(after.configHash)}`;
  const head = size === 0 ? '0'.repeat(64) : toHex(after.chainHead);
  const lines = [origin, size, rootAt(log, size), head, toHex(after.stateHash), CREATED_MS + 99_999];
  return signed(['vouch checkpoint v1', ...lines].map((line) => `${line}\n`).join(''));
}

export function signed(checkpoint: string): WrittenCheckpoint {
  const signature = sign(null, utf8(checkpoint), PRIVATE_KEY).toString('hex');
  return { checkpoint, signature, public_key: PUBLIC_KEY, key_id: PUBLIC_KEY.slice(0, 16) };
}

const LOG_NODE = 0x01;

export const rootAt = ({ chainHeads }: WrittenLog, size: number): string =>
  toHex(logRoot(BigInt(size), treeHash(chainHeads.slice(0, size), LOG_NODE)));

export const writeInclusion = (log: WrittenLog, sequence: number, size: number) => ({
  sequence,
  size,
  root: rootAt(log, size),
  proof: proofOf([log.chainHeads[sequence]!, ...auditPath(sequence, log.chainHeads.slice(0, size), LOG_NODE)]),
});

export const writeConsistency = (log: WrittenLog, from: number, to: number) => ({
  from: logAt(log, from),
  to: logAt(log, to),
  proof: proofOf(from === 0 || from === to ? [] : subproof(from, log.chainHeads.slice(0, to))),
});

const logAt = (log: WrittenLog, size: number) => ({ sequence: Math.max(size - 1, 0), size, root: rootAt(log, size) });
const proofOf = (hashes: readonly Uint8Array[]): string => Buffer.concat([u8(1), ...hashes]).toString('base64url');

/** RFC 9162, section 2.1.4.1, always with the earlier tree's hash. */
function subproof(from: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (from === leaves.length) return [treeHash(leaves, LOG_NODE)];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return from <= k
    ? [...subproof(from, leaves.slice(0, k)), treeHash(leaves.slice(k), LOG_NODE)]
    : [...subproof(from - k, leaves.slice(k)), treeHash(leaves.slice(0, k), LOG_NODE)];
}

/** The export file, and the offsets of its frames. */
export async function writeExport(log: WrittenLog): Promise<{ readonly bytes: Buffer; readonly framesAt: number[] }> {
  const header = {
    format: 1,
    origin: ORIGIN,
    dimension: DIMENSION,
    metric: 'squared_l2',
    created_at_ms: CREATED_MS,
    index: { type: 'brute', parameters: {} },
    exported_at_ms: CREATED_MS + 100_000,
  };
  const { checkpoint: note, signature, public_key } = await writeCheckpoint(log, log.events.length);
  const [, , , log_root, chain_head, state_hash] = note.split('\n');
  const trailer = {
    frames: log.frames.length,
    sequence: Math.max(log.events.length - 1, 0),
    log_bytes: log.frames.reduce((sum, { bytes }) => sum + bytes.length, 0),
    chain_head,
    log_root,
    state_hash,
    checkpoint: { note, signature, public_key },
  };
  return assembleExport(header, log, trailer);
}

export function assembleExport(
  header: object,
  { frames }: Pick<WrittenLog, 'frames'>,
  trailer: object,
): { readonly bytes: Buffer; readonly framesAt: number[] } {
  const sized = (bytes: Buffer): Buffer => Buffer.concat([u32(bytes.length), bytes]);
  let bytes = Buffer.concat([utf8('VOUCHLOG1\n'), sized(utf8(JSON.stringify(header)))]);
  const framesAt: number[] = [];
  for (const frame of frames) {
    framesAt.push(bytes.length + 4);
    bytes = Buffer.concat([bytes, sized(frame.bytes)]);
  }
  bytes = Buffer.concat([bytes, u32(0), sized(utf8(JSON.stringify(trailer)))]);
  return { bytes: Buffer.concat([bytes, H(bytes)]), framesAt };
}
