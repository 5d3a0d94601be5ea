/**
 * The entries of the service log. Integers are little-endian.
 *
 * ```text
 *   0  "VLE1" | u8 type: 1 checkpoint, 2 deletion, 3 census, 4 access log | 0 0 0
 *   8  u64 collection id | u64 time in ms | config hash (32)
 *  56  of a checkpoint: u64 size | root (32) | chain head (32) | state hash (32) | public key (32) | signature (64)
 *
 *  56  of an access log: u64 entries | chain head (32) | root (32)
 *
 *   8  of a census: u64 collections present | u64 time in ms | u64 id of each missing collection, ascending
 * ```
 *
 * An entry contains no name of a project or collection, since the log is public. The signature is over the checkpoint's text,
 * which contains the names, so it binds them for those who know them.
 */
import { Malformed } from '../../shared/errors/malformed.js';
import { readU64, writeU64 } from '../../shared/hashing/u64.js';
import type { ProofResults } from '../../shared/protocol/proofs.js';

const MAGIC = Buffer.from('VLE1', 'latin1');
export const CHECKPOINT = 1;
export const DELETION = 2;
export const CENSUS = 3;
const ACCESS = 4;
const HEAD_BYTES = 56;
const CHECKPOINT_BYTES = 256;
const CENSUS_BYTES = 24;
const ACCESS_BYTES = 128;
const ID_BYTES = 8;
/** Largest number of ids in an entry, whose length is a u16. */
export const MISSING_MAX = 1_000;
const AT = {
  type: 4,
  collectionId: 8,
  timeMs: 16,
  configHash: 24,
  size: 56,
  hashes: 64,
  publicKey: 160,
  signature: 192,
};
const TEXT =
  /^vouch checkpoint v1\n[^/\n]+\/[^/\n]+\/(\d+)\/([0-9a-f]{64})\n(\d+)\n([0-9a-f]{64})\n([0-9a-f]{64})\n([0-9a-f]{64})\n(\d+)\n$/;

/** The part of an entry that stays in memory. `size`: the events of the collection; 0 for a deletion. */
export interface EntryHead {
  readonly type: typeof CHECKPOINT | typeof DELETION;
  readonly collectionId: number;
  readonly timeMs: number;
  readonly configHash: string;
  readonly size: number;
}

/** A count of the collections that have entries before this one, and no deletion among them. */
export interface CensusEntry {
  /** Number of those that exist. */
  readonly present: number;
  /** Ids of the missing ones, ascending; the first MISSING_MAX. */
  readonly missing: readonly number[];
  readonly timeMs: number;
}

/** The access log of a collection after some of its entries. Hashes are hex. */
export interface AccessHeadEntry {
  readonly collectionId: number;
  readonly timeMs: number;
  readonly configHash: string;
  /** Number of entries. */
  readonly size: number;
  readonly chainHead: string;
  readonly root: string;
}

/** Encodes a collection's answer to the call `checkpoint`. Throws Malformed if its text is not a checkpoint. */
export function checkpointEntry({ text, signature, publicKey }: ProofResults['checkpoint']): Uint8Array {
  const [, id, configHash, size, root, chainHead, stateHash, timeMs] = TEXT.exec(text) ?? [];
  if (timeMs === undefined) throw new Malformed('the text of a checkpoint has another form', 0);
  const bytes = head(
    CHECKPOINT,
    { collectionId: Number(id), timeMs: Number(timeMs), configHash: configHash! },
    CHECKPOINT_BYTES,
  );
  writeU64(new DataView(bytes.buffer, bytes.byteOffset), AT.size, Number(size));
  bytes.set(Buffer.from(`${root}${chainHead}${stateHash}`, 'hex'), AT.hashes);
  bytes.set(publicKey, AT.publicKey);
  bytes.set(signature, AT.signature);
  return bytes;
}

export const deletionEntry = (collectionId: number, configHash: string, timeMs: number): Uint8Array =>
  head(DELETION, { collectionId, timeMs, configHash }, HEAD_BYTES);

export function accessEntry({ collectionId, timeMs, configHash, size, chainHead, root }: AccessHeadEntry): Uint8Array {
  const bytes = head(ACCESS, { collectionId, timeMs, configHash }, ACCESS_BYTES);
  writeU64(new DataView(bytes.buffer, bytes.byteOffset), AT.size, size);
  bytes.set(Buffer.from(`${chainHead}${root}`, 'hex'), AT.hashes);
  return bytes;
}

/** Undefined for another entry. Throws Malformed for bytes that this program did not write. */
export function readAccess(entry: Uint8Array): AccessHeadEntry | undefined {
  if (entry[AT.type] !== ACCESS) return undefined;
  if (entry.length !== ACCESS_BYTES || !isOfVersion1(entry)) throw notOfVersion1();
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  return {
    collectionId: readU64(view, AT.collectionId),
    timeMs: readU64(view, AT.timeMs),
    configHash: hexAt(entry, AT.configHash, 32),
    size: readU64(view, AT.size),
    chainHead: hexAt(entry, AT.hashes, 32),
    root: hexAt(entry, AT.hashes + 32, 32),
  };
}

export function censusEntry({ present, missing, timeMs }: CensusEntry): Uint8Array {
  const ids = missing.slice(0, MISSING_MAX);
  const bytes = new Uint8Array(CENSUS_BYTES + ID_BYTES * ids.length);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  bytes[AT.type] = CENSUS;
  writeU64(view, AT.collectionId, present);
  writeU64(view, AT.timeMs, timeMs);
  for (const [i, id] of ids.entries()) writeU64(view, CENSUS_BYTES + ID_BYTES * i, id);
  return bytes;
}

/** Undefined for an entry about a collection. Throws Malformed for bytes that this program did not write. */
export function readCensus(entry: Uint8Array): CensusEntry | undefined {
  if (entry[AT.type] !== CENSUS) return undefined;
  if (entry.length < CENSUS_BYTES || entry.length % ID_BYTES !== 0 || !isOfVersion1(entry)) throw notOfVersion1();
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  const ids = (entry.length - CENSUS_BYTES) / ID_BYTES;
  return {
    present: readU64(view, AT.collectionId),
    missing: Array.from({ length: ids }, (_, i) => readU64(view, CENSUS_BYTES + ID_BYTES * i)),
    timeMs: readU64(view, AT.timeMs),
  };
}

const isOfVersion1 = (entry: Uint8Array): boolean => Buffer.compare(entry.subarray(0, MAGIC.length), MAGIC) === 0;
const notOfVersion1 = (): Malformed => new Malformed('this is not an entry of version 1', 0);

interface Head {
  readonly collectionId: number;
  readonly timeMs: number;
  readonly configHash: string;
}

function head(type: number, { collectionId, timeMs, configHash }: Head, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  bytes[AT.type] = type;
  writeU64(view, AT.collectionId, collectionId);
  writeU64(view, AT.timeMs, timeMs);
  bytes.set(Buffer.from(configHash, 'hex'), AT.configHash);
  return bytes;
}

/** Reads an entry about a collection. Throws Malformed for bytes that this program did not write. */
export function readEntryHead(entry: Uint8Array): EntryHead {
  const type = entry[AT.type];
  const expected = type === CHECKPOINT ? CHECKPOINT_BYTES : type === DELETION ? HEAD_BYTES : -1;
  if (entry.length !== expected || !isOfVersion1(entry)) throw notOfVersion1();
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  return {
    type: type as EntryHead['type'],
    collectionId: readU64(view, AT.collectionId),
    timeMs: readU64(view, AT.timeMs),
    configHash: hexAt(entry, AT.configHash, 32),
    size: type === CHECKPOINT ? readU64(view, AT.size) : 0,
  };
}

/** The signed text. The entry lacks its names, so the caller gives them. */
export function checkpointText(entry: Uint8Array, { project, name }: { project: string; name: string }): string {
  const { collectionId, configHash, size, timeMs } = readEntryHead(entry);
  const hashes = [0, 1, 2].map((i) => hexAt(entry, AT.hashes + 32 * i, 32));
  return ['vouch checkpoint v1', `${project}/${name}/${collectionId}/${configHash}`, size, ...hashes, timeMs, ''].join(
    '\n',
  );
}

export const publicKeyIn = (entry: Uint8Array): string => hexAt(entry, AT.publicKey, 32);
export const signatureIn = (entry: Uint8Array): string => hexAt(entry, AT.signature, 64);

const hexAt = (bytes: Uint8Array, at: number, length: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString('hex');
