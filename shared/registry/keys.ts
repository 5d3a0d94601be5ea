/** API keys: their form, and how they are stored, made, listed and revoked. The store has only the BLAKE3 of a key. */
import { type Bucket, type BucketValue, type Entry, entriesOf } from '../bucket/bucket.js';
import { type Clock, type Entropy, systemClock } from '../clock.js';
import { VouchError } from '../errors/errors.js';
import { hash, toHex } from '../hashing/hash.js';
import { ACTOR_KEY_ID_MAX, isVisibleAscii, SYSTEM_KEY_ID } from '../model/actor.js';
import { SharedRun } from '../scheduling/sharedRun.js';
import { nextTurn, Slice } from '../scheduling/slice.js';
import { areKeyCollections, KEY_COLLECTIONS_MAX, type KeyCollections } from './keyCollections.js';

export const SCOPES = ['read_only', 'read_write', 'admin', 'metrics'] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes that a key of each scope includes. */
const IMPLIED: Readonly<Record<Scope, readonly Scope[]>> = {
  read_only: ['read_only'],
  read_write: ['read_only', 'read_write'],
  admin: SCOPES,
  metrics: ['metrics'],
};

export interface KeyRecord {
  /** Names the key in lists and for revocation; says nothing about the key itself. */
  readonly id: string;
  readonly project: string;
  readonly scope: Scope;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** When a coordinator first found it expired; null before that. It stays expired even if a clock is set back. */
  readonly expiredAtMs: number | null;
  readonly label: string | null;
  readonly collections: KeyCollections;
}

export interface WantedKey {
  readonly project: string;
  readonly scope: Scope;
  readonly expiresAtMs?: number | null;
  readonly label?: string | null;
  readonly collections?: KeyCollections;
}

/** Characters of a label. */
export const KEY_LABEL_MAX = 100;
/** Largest number of keys of a project, with expired ones: every coordinator has all keys in memory. */
export const KEYS_PER_PROJECT_MAX = 1_000;
/** The longest validity of a key that expires: some 136 years. */
export const KEY_VALID_SECS_MAX = 4_294_967_295;

const KEY = /^vk_[0-9a-f]{64}$/;
const KEY_ENTROPY_BYTES = 32;
const ID_ENTROPY_BYTES = 8;
const PROJECT = /^[A-Za-z0-9_-]{1,64}$/;

export const isProjectName = (name: string): boolean => PROJECT.test(name);

/** Whether a key of scope `given` may be used where `required` is needed. */
export const allows = (given: Scope, required: Scope): boolean => IMPLIED[given].includes(required);

/** The key's name in the store: its BLAKE3 as hex. Undefined if the text is not a key. */
export const keyHash = (key: string): string | undefined =>
  KEY.test(key) ? toHex(hash(Buffer.from(key, 'latin1'))) : undefined;

export const isExpired = (record: KeyRecord, nowMs: number): boolean =>
  record.expiresAtMs !== null && (record.expiredAtMs !== null || record.expiresAtMs <= nowMs);

/**
 * Makes a key, which cannot be shown again later. Throws `validation_error` for a malformed project or collection, and for a long
 * label. Also throws it for a key that is limited to collections, if its scope includes `metrics`.
 */
export async function createKey(
  bucket: Bucket,
  wanted: WantedKey,
  clock: Clock,
  entropy: Entropy,
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  if (!isProjectName(wanted.project))
    throw new VouchError('validation_error', 'a project name is 1 to 64 letters, digits, _ or -');
  if ((wanted.label?.length ?? 0) > KEY_LABEL_MAX)
    throw new VouchError('validation_error', `a label has at most ${KEY_LABEL_MAX} characters`);
  const { collections = null } = wanted;
  if (collections !== null && !areKeyCollections(collections))
    throw new VouchError(
      'validation_error',
      `collections of a key are 1 to ${KEY_COLLECTIONS_MAX} names, or prefixes that end with *`,
    );
  if (collections !== null && allows(wanted.scope, 'metrics'))
    throw new VouchError('validation_error', `a key of scope ${wanted.scope} cannot be limited to collections`);
  const record: KeyRecord = {
    id: toHex(entropy(ID_ENTROPY_BYTES)),
    project: wanted.project,
    scope: wanted.scope,
    createdAtMs: clock.nowMs(),
    expiresAtMs: wanted.expiresAtMs ?? null,
    expiredAtMs: null,
    label: wanted.label ?? null,
    collections,
  };
  const key = `vk_${toHex(entropy(KEY_ENTROPY_BYTES))}`;
  if ((await bucket.create(keyHash(key)!, toStored(record))) === undefined)
    throw new VouchError('internal_error', 'the source of randomness gave the same key twice');
  return { key, record };
}

interface StoredRecord {
  readonly hashHex: string;
  readonly record: KeyRecord;
}

const reads = new WeakMap<Bucket, SharedRun<ReadonlyMap<string, readonly StoredRecord[]>>>();

/** Reads all keys, by project. Calls made before a read begins share it, since there may be many keys. */
function keysByProject(bucket: Bucket): Promise<ReadonlyMap<string, readonly StoredRecord[]>> {
  let read = reads.get(bucket);
  if (read === undefined) {
    read = new SharedRun(async () => {
      await nextTurn();
      return grouped(await entriesOf(bucket));
    });
    reads.set(bucket, read);
  }
  return read.next();
}

async function grouped(entries: readonly Entry[]): Promise<ReadonlyMap<string, readonly StoredRecord[]>> {
  const projects = new Map<string, StoredRecord[]>();
  const slice = new Slice(systemClock);
  for (const entry of entries) {
    const record = keyRecord(entry);
    if (slice.step()) await slice.next();
    if (record === undefined) continue;
    const keys = projects.get(record.project) ?? [];
    keys.push({ hashHex: entry.key, record });
    projects.set(record.project, keys);
  }
  return projects;
}

/** The keys of the project, or of all projects. */
async function storedKeys(bucket: Bucket, project?: string): Promise<readonly StoredRecord[]> {
  const projects = await keysByProject(bucket);
  return project === undefined ? [...projects.values()].flat() : (projects.get(project) ?? []);
}

/** Lists the keys of the project, or of all projects, oldest first. */
export async function listKeys(bucket: Bucket, project?: string): Promise<readonly KeyRecord[]> {
  return (await storedKeys(bucket, project))
    .map(({ record }) => record)
    .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

/**
 * Deletes a key; all coordinators refuse it within a second. Returns its hash; undefined if no such key exists, or if it is not
 * of `project`.
 */
export async function revokeKey(bucket: Bucket, id: string, project?: string): Promise<string | undefined> {
  const found = (await storedKeys(bucket, project)).find(({ record }) => record.id === id);
  return found !== undefined && (await bucket.delete(found.hashHex)) ? found.hashHex : undefined;
}

/** Notes in the stored key that it is expired, for coordinators that restart or whose clock is behind. A revoked key stays revoked. */
export async function keepExpired(bucket: Bucket, hashHex: string, atMs: number): Promise<void> {
  for (;;) {
    const entry = await bucket.get(hashHex);
    const stored = entry?.value as StoredKey | undefined;
    if (entry === undefined || stored === undefined || stored.expired_at_ms !== undefined) return;
    if ((await bucket.update(hashHex, { ...stored, expired_at_ms: atMs }, entry.revision)) !== undefined) return;
  }
}

/** Decodes a stored key; undefined if the entry is not a key. */
export function keyRecord(entry: Entry): KeyRecord | undefined {
  const { id, project, scope, created_at_ms, expires_at_ms, expired_at_ms, label, collections } =
    entry.value as Partial<StoredKey>;
  if (id === undefined || project === undefined || scope === undefined || !SCOPES.includes(scope)) return undefined;
  // A key with malformed collections is refused: without them it would have access to all.
  if (collections !== undefined && !areKeyCollections(collections)) return undefined;
  // Events name the key by this id, so it must be one that they can have.
  if (id === SYSTEM_KEY_ID || !isVisibleAscii(id, ACTOR_KEY_ID_MAX)) return undefined;
  return {
    id,
    project,
    scope,
    createdAtMs: created_at_ms ?? 0,
    expiresAtMs: expires_at_ms ?? null,
    expiredAtMs: expired_at_ms ?? null,
    label: label ?? null,
    collections: collections ?? null,
  };
}

/** The stored form: snake_case JSON, which an operator can read with the NATS CLI. */
export interface StoredKey {
  readonly id: string;
  readonly project: string;
  readonly scope: Scope;
  readonly created_at_ms: number;
  readonly expires_at_ms: number | null;
  readonly expired_at_ms?: number;
  readonly label?: string;
  readonly collections?: readonly string[];
}

/** Encodes a key that has not expired. */
function toStored(record: KeyRecord): BucketValue {
  const { id, project, scope, createdAtMs, expiresAtMs, label, collections } = record;
  const stored: StoredKey = { id, project, scope, created_at_ms: createdAtMs, expires_at_ms: expiresAtMs };
  return { ...stored, ...(label === null ? {} : { label }), ...(collections === null ? {} : { collections }) };
}
