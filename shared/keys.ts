/**
 * API keys: what they look like, how they are stored, and how they are made, listed and revoked. The store holds the
 * BLAKE3 of a key and never the key, so whoever reads the store can call nothing.
 */
import type { Bucket, Entry, Json } from './bucket/bucket.js';
import type { Clock, Entropy } from './clock.js';
import { VouchError } from './errors.js';
import { hash, toHex } from './hash.js';

/** Each scope implies those before it. */
export const SCOPES = ['read_only', 'read_write', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface KeyRecord {
  /** Names the key in lists and for revocation; says nothing about the key itself. */
  readonly id: string;
  readonly project: string;
  readonly scope: Scope;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly label: string | null;
}

export interface WantedKey {
  readonly project: string;
  readonly scope: Scope;
  readonly expiresAtMs?: number | null;
  readonly label?: string | null;
}

const KEY = /^vk_[0-9a-f]{64}$/;
const KEY_ENTROPY_BYTES = 32;
const ID_ENTROPY_BYTES = 8;
const PROJECT = /^[A-Za-z0-9_-]{1,64}$/;

export const isProjectName = (name: string): boolean => PROJECT.test(name);

/** Whether a holder of `held` may do what asks for `required`. */
export const allows = (held: Scope, required: Scope): boolean => SCOPES.indexOf(held) >= SCOPES.indexOf(required);

/** The key's name in the store: hex of its BLAKE3. Undefined where the text cannot be a key at all. */
export const keyHash = (key: string): string | undefined =>
  KEY.test(key) ? toHex(hash(Buffer.from(key, 'latin1'))) : undefined;

export const isExpired = (record: KeyRecord, nowMs: number): boolean =>
  record.expiresAtMs !== null && record.expiresAtMs <= nowMs;

/** Makes a key. It is returned here and can never be shown again. Throws `validation_error` on an ill-formed project. */
export async function createKey(
  bucket: Bucket,
  wanted: WantedKey,
  clock: Clock,
  entropy: Entropy,
): Promise<{ readonly key: string; readonly record: KeyRecord }> {
  if (!isProjectName(wanted.project))
    throw new VouchError('validation_error', 'a project name is 1 to 64 letters, digits, _ or -');
  const record: KeyRecord = {
    id: toHex(entropy(ID_ENTROPY_BYTES)),
    project: wanted.project,
    scope: wanted.scope,
    createdAtMs: clock.nowMs(),
    expiresAtMs: wanted.expiresAtMs ?? null,
    label: wanted.label ?? null,
  };
  const key = `vk_${toHex(entropy(KEY_ENTROPY_BYTES))}`;
  if ((await bucket.create(keyHash(key)!, toStored(record))) === undefined)
    throw new VouchError('internal_error', 'the source of randomness gave the same key twice');
  return { key, record };
}

/** Every key of the project, or of all projects; oldest first. Reads the whole store. */
export async function listKeys(bucket: Bucket, project?: string): Promise<readonly KeyRecord[]> {
  const records = [...(await readAll(bucket)).values()];
  return records
    .filter((record) => project === undefined || record.project === project)
    .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
}

/**
 * Ends a key, everywhere within a second. `project` confines it to keys of that project.
 * The hash of what was revoked, or undefined where there is no such key.
 */
export async function revokeKey(bucket: Bucket, id: string, project?: string): Promise<string | undefined> {
  for (const [hashHex, record] of await readAll(bucket)) {
    if (record.id !== id || (project !== undefined && record.project !== project)) continue;
    return (await bucket.delete(hashHex)) ? hashHex : undefined;
  }
  return undefined;
}

/** The record of a stored key, or undefined where the entry is none of ours. */
export function keyRecord(entry: Entry): KeyRecord | undefined {
  const { id, project, scope, created_at_ms, expires_at_ms, label } = entry.value as Partial<StoredKey>;
  if (id === undefined || project === undefined || scope === undefined || !SCOPES.includes(scope)) return undefined;
  return {
    id,
    project,
    scope,
    createdAtMs: created_at_ms ?? 0,
    expiresAtMs: expires_at_ms ?? null,
    label: label ?? null,
  };
}

/** As it lies in the store: snake_case JSON, for the operator who reads it with the NATS CLI. */
export interface StoredKey {
  readonly id: string;
  readonly project: string;
  readonly scope: Scope;
  readonly created_at_ms: number;
  readonly expires_at_ms: number | null;
  readonly label?: string;
}

function toStored(record: KeyRecord): Json {
  const { id, project, scope, createdAtMs, expiresAtMs, label } = record;
  const stored: StoredKey = { id, project, scope, created_at_ms: createdAtMs, expires_at_ms: expiresAtMs };
  return { ...stored, ...(label === null ? {} : { label }) };
}

/** A watch gives every entry before it resolves; nothing else of a bucket lists. */
async function readAll(bucket: Bucket): Promise<ReadonlyMap<string, KeyRecord>> {
  const records = new Map<string, KeyRecord>();
  const watch = await bucket.watch(({ key, entry }) => {
    const record = entry === undefined ? undefined : keyRecord(entry);
    if (record === undefined) records.delete(key);
    else records.set(key, record);
  });
  watch.stop();
  return records;
}
