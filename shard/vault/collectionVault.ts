/** The vault for one collection: encrypts payloads before their commit, and decrypts committed ones. */
import type { Clock } from '../../shared/clock.js';
import { refusal } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { GCM_TAG_BYTES } from '../../shared/limits.js';
import { Damaged } from '../../shared/log/damaged.js';
import { type Event, genesisOf, type InsertEncrypted, isUnderKey } from '../../shared/log/event.js';
import type { Logger } from '../../shared/logger.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { InsertBatchCall, InsertCall, InsertEncryptedCall, NamedKey } from '../../shared/protocol/writes.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { CollectionState } from '../state/collectionState.js';
import { type AppliedRequest, NO_RECORD } from '../state/dedupWindow.js';
import { contentHashOf, type EncryptedRecord } from '../state/encryptedRecords.js';
import {
  assertBatchShape,
  assertContent,
  assertListed,
  assertPayload,
  type EventLimits,
} from '../state/eventLimits.js';
import { expiryAt } from '../state/expiryAt.js';
import { utf8ExternalId } from '../state/externalIds.js';
import { insertedEncryptedBytes } from '../state/growth.js';
import type { Journal } from '../state/journal.js';
import type { EncryptedInsert } from '../state/plannedCalls.js';
import { PlannedChanges } from '../state/plannedChanges.js';
import { type ContentCipher, recordBytes } from '../state/plannedContents.js';
import { keyOf, PlannedRequests } from '../state/plannedRequests.js';
import { assertRoom, missing, type Room, shredded } from '../state/refusals.js';
import { ContentKeys, type KeySource, type OpenedContents } from './contentKeys.js';
import { KeyDamaged, type PayloadTarget, type RecordVault, recordShredded } from './recordVault.js';

const CHECKED_AT_ONCE = 4;

/** Growth of the collection by a write. */
interface Brings {
  readonly records: number;
  readonly growthBytes: number;
}

/** Returns the room that the quotas leave for an addition. */
export type RoomFor = (brings: Brings) => Promise<Room>;

interface VaultedCollection {
  readonly config: CollectionConfig;
  readonly state: CollectionState;
  readonly journal: Journal;
  readonly contents: ContentKeys;
}

/** Keys that are opened at once. */
const OPENED_AT_ONCE = 32;

export class CollectionVault {
  readonly #target: PayloadTarget;
  /** Encrypts contents under keys that are open. */
  readonly cipher: ContentCipher;

  constructor(
    private readonly collection: VaultedCollection,
    private readonly vault: RecordVault,
    private readonly limits: EventLimits,
    private readonly room: RoomFor,
  ) {
    const { contents } = collection;
    this.#target = targetOf(collection.config);
    this.cipher = {
      isRule: collection.config.erasable ?? false,
      encrypt: (keyId, content) => contents.encrypt(keyId, content, vault.random),
    };
  }

  /** Whether the content of a record of the write is encrypted, under a named key or a new one. */
  needsKeys(call: InsertCall | InsertBatchCall): boolean {
    return this.cipher.isRule || (call.op === 'insert' ? call.keyId : call.keyIds) !== undefined;
  }

  /**
   * Returns the write with the key of each record; null for a record without one. Makes the new keys, opens the others, and lists
   * the collection in their entries. Throws like `encrypt`.
   */
  async underKeys<Call extends InsertCall | InsertBatchCall>(
    call: Call,
    deadlineMs: number,
    clock: Clock,
  ): Promise<Call> {
    const given: InsertCall | InsertBatchCall = call;
    if (given.op === 'insert' && this.#isOpen(given.keyId)) return call;
    const batch = given.op === 'insert' ? batchOfOne(given) : given;
    const { keyIds, requestIds, externalIds, count } = batch;
    assertListed(keyIds, count);
    if (keyIds?.every((keyId) => this.#isOpen(keyId))) return call;
    const replayed = new PlannedRequests(this.collection.state.requests).replayed((requestIds ?? []).map(keyOf));
    const wanted = Array.from({ length: count }, (_, i) =>
      replayed.has(i) ? null : this.#wanted(keyIds?.[i], externalIds?.[i]),
    );
    if (wanted.some((keyId) => keyId !== null && !this.collection.contents.has(keyId)))
      await this.#assertAcceptable(batch, replayed, call.op === 'insert' ? '' : 'item', clock);
    const provided = await this.#provide(wanted, deadlineMs);
    if (call.op === 'insertBatch') return { ...call, keyIds: provided };
    const [keyId] = provided;
    return keyId == null ? call : { ...call, keyId };
  }

  /** Refuses what the commit would refuse for its sizes, an expiry, a change or a quota, so that no key is made for it. */
  async #assertAcceptable(
    batch: InsertBatchCall,
    replayed: ReadonlySet<number>,
    item: string,
    clock: Clock,
  ): Promise<void> {
    const { state, journal } = this.collection;
    assertBatchShape(batch, this.limits);
    const changes = new PlannedChanges([], state, journal.sequence + 1);
    const slice = new Slice(clock);
    const nowMs = clock.nowMs();
    let [records, bytes] = [0, 0];
    for (let i = 0; i < batch.count; i++) {
      if (slice.due) await slice.next();
      if (replayed.has(i)) continue;
      const [metadata, text] = [batch.metadata?.[i] ?? null, batch.texts?.[i] ?? null];
      const what = item === '' ? '' : `${item} ${i} of the batch: `;
      const expiresAtMs = expiryAt(nowMs, batch.expiresAtMs?.[i], batch.ttlMs, what);
      assertContent({ metadata, text }, this.limits, what);
      const name = batch.externalIds?.[i];
      const externalId = name === undefined ? null : utf8ExternalId(name);
      const holder = externalId === null ? undefined : state.externalIds.find(externalId);
      if (externalId !== null) changes.assertHolder(holder, externalId, batch.since);
      if (holder === undefined) records++;
      const vector = batch.vectors.subarray(0, batch.vectors.length / batch.count);
      bytes += recordBytes({ vector, metadata, text, externalId, expiresAtMs }, true);
    }
    assertRoom(await this.room({ records, growthBytes: bytes }), { records, bytes });
  }

  /** Opens the contents of an import. Throws Damaged if the vault has another key with the id of one. */
  async openContents(events: readonly Event[]): Promise<OpenedContents> {
    const { contents } = this.collection;
    const opened = await contents.open(events);
    const other = events.find(
      (event) => isUnderKey(event) && event.content === null && contents.has(toHex(event.keyId)),
    );
    if (other === undefined) return opened;
    opened.forget();
    throw new Damaged(
      `event ${other.sequence}: its content does not open under the key that the vault has with this id`,
    );
  }

  #isOpen(keyId: NamedKey | null | undefined): boolean {
    return keyId != null && this.collection.contents.has(keyId);
  }

  /** Returns the key that a new record needs. Null without a key, or if it replaces a record, which keeps its own. */
  #wanted(keyId: NamedKey | null | undefined, externalId: string | undefined): NamedKey | null {
    const { state } = this.collection;
    if (keyId != null || !this.cipher.isRule) return keyId ?? null;
    const holder = externalId === undefined ? undefined : state.externalIds.named(externalId);
    return holder === undefined || state.encrypted.get(holder) === undefined ? 'new' : null;
  }

  async #provide(wanted: readonly (NamedKey | null)[], deadlineMs: number): Promise<(string | null)[]> {
    const { state, contents } = this.collection;
    const named = [...new Set(wanted)].filter((keyId) => keyId !== null && keyId !== 'new' && !contents.has(keyId));
    for (const keyId of named) if (state.encrypted.isShredded(keyId!)) throw shredded(keyId!);
    await mapConcurrent(named as string[], OPENED_AT_ONCE, (keyId) => this.#open(keyId, deadlineMs));
    const fresh = wanted.filter((keyId) => keyId === 'new').length;
    const made = fresh === 0 ? [] : await this.vault.provideFresh(this.#target, fresh);
    for (const { keyId, dataKey } of made) contents.add(keyId, dataKey);
    return wanted.map((keyId) => (keyId === 'new' ? made.pop()!.keyId : keyId));
  }

  async #open(keyId: string, deadlineMs: number): Promise<void> {
    const mustExist = this.#uses(keyId);
    const made = await this.#noticingDamage(keyId, () =>
      this.vault.provide(this.#target, { keyId, mustExist, deadlineMs }),
    );
    this.collection.contents.add(keyId, made.dataKey);
  }

  /** Returns the answer to a repeated insert; undefined if the request id is new or missing. */
  async replay(requestId: Uint8Array | null): Promise<Results['insertEncrypted'] | undefined> {
    const key = keyOf(requestId);
    const applied = key === undefined ? undefined : this.collection.state.requests.find(key);
    return applied && this.replayOf(applied);
  }

  /** Throws `validation_error` if the request id belongs to a record with a vector, or to a deletion. */
  async replayOf({ recordId, sequence }: AppliedRequest): Promise<Results['insertEncrypted']> {
    if (recordId === NO_RECORD) throw refusal('validation_error', 'usedByDeletion');
    const event = await this.collection.journal.eventAt(sequence);
    if (event.type === 'insertEncrypted') return { id: recordId, keyId: toHex(event.keyId) };
    throw refusal('validation_error', 'usedUnencrypted', { record: recordId });
  }

  /**
   * Encrypts the payload, and lists the collection in the key's entry. Refuses what the commit would refuse, so that no
   * key is made for it. Throws Damaged if the entry is damaged and records of this collection depend on it.
   */
  async encrypt(call: InsertEncryptedCall, deadlineMs: number): Promise<EncryptedInsert> {
    const { op, payload, keyId, ...rest } = call;
    assertPayload(payload.length, this.limits);
    if (keyId !== null && this.collection.state.encrypted.isShredded(keyId)) throw shredded(keyId);
    const brings = { records: 1, growthBytes: insertedEncryptedBytes(payload.length + GCM_TAG_BYTES) };
    assertRoom(await this.room(brings), { records: 1, bytes: brings.growthBytes });
    const mustExist = keyId !== null && this.#uses(keyId);
    const encrypted = await this.#noticingDamage(keyId, () =>
      this.vault.encrypt(this.#target, payload, { keyId, mustExist, deadlineMs }),
    );
    return { op, ...rest, ...encrypted };
  }

  /** Call it before events of an import are stored, so that a shred of their keys reaches this collection too. */
  async enter(events: readonly Event[], deadlineMs: number): Promise<void> {
    const keyIds = events.flatMap((event) =>
      event.type === 'insertEncrypted' || isUnderKey(event) ? [toHex(event.keyId)] : [],
    );
    for (const keyId of new Set(keyIds)) await this.vault.enter(this.#target, keyId, deadlineMs);
  }

  /** Decrypts a record. Throws `record_not_found`, `record_shredded`, errors of the vault, and Damaged like `encrypt`. */
  async read(recordId: number): Promise<Results['getEncrypted']> {
    const record = this.collection.state.encrypted.get(recordId);
    if (record === undefined || record.isTombstoned || record.content !== undefined) throw missing(recordId);
    const { keyId } = record;
    if (this.collection.state.encrypted.isShredded(keyId)) throw recordShredded(keyId);
    const { nonce, ciphertext } = await this.#eventOf(record);
    const payload = await this.#noticingDamage(keyId, () =>
      this.vault.decrypt(this.#target, { keyId, nonce, ciphertext }),
    );
    return { id: recordId, keyId, payload };
  }

  /** Returns the salt of a live record under a key. Throws `record_shredded`, and Damaged like `encrypt`. */
  async saltOf(recordId: number): Promise<Uint8Array> {
    const { contentHash, keyId, sequence } = this.collection.state.encrypted.get(recordId)!;
    const event = await this.collection.journal.eventAt(sequence);
    if (!isUnderKey(event) || Buffer.from(event.commitment).toString('latin1') !== contentHash)
      throw new Damaged(`event ${sequence}: it is not the event that was committed`);
    const salt = await this.collection.contents.saltOf(event);
    if (salt === undefined) throw recordShredded(keyId);
    return salt;
  }

  /**
   * Verifies a key of live records. Returns false if its entry is missing or cannot be opened here. Throws like `encrypt`.
   */
  async checkKey(keyId: string): Promise<boolean> {
    return !this.#uses(keyId) || (await this.#noticingDamage(keyId, () => this.vault.check(this.#target, keyId)));
  }

  /**
   * Verifies all keys of live records, and awaits `rest` after every few. Logs their number, or how many did not open.
   */
  async checkKeys(rest: (entries: number) => Promise<void>, logger: Logger): Promise<void> {
    let [keys, closed, isOver] = [0, 0, false];
    const live = this.collection.state.encrypted.liveKeys();
    while (!isOver) {
      const some = Array.from({ length: CHECKED_AT_ONCE }, () => live.next().value ?? '').filter(Boolean);
      isOver = some.length < CHECKED_AT_ONCE;
      const checked = await Promise.all(some.map((keyId) => this.checkKey(keyId)));
      keys += checked.length;
      closed += checked.filter((isOpened) => !isOpened).length;
      if (checked.length > 0) await rest(checked.length);
    }
    const { id: collectionId } = this.collection.config;
    if (closed > 0) logger.warn({ collectionId, keys: closed }, 'records are under keys that cannot be opened here');
    else if (keys > 0) logger.info({ collectionId, keys }, 'the vault entries of the collection are whole');
  }

  #uses(keyId: string): boolean {
    return this.collection.state.encrypted.countUnder(keyId) > 0 && !this.collection.state.encrypted.isShredded(keyId);
  }

  async #eventOf({ id, sequence, contentHash }: EncryptedRecord): Promise<InsertEncrypted> {
    const event = await this.collection.journal.eventAt(sequence);
    if (event.type === 'insertEncrypted' && event.recordId === id && contentHashOf(event) === contentHash) return event;
    throw new Damaged(`event ${sequence}: it is not the event that was committed`);
  }

  /** Runs `work`. Damage to a key that no record of this collection needs is an error of the call only. */
  async #noticingDamage<T>(keyId: string | null, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KeyDamaged) || keyId === null || !this.#uses(keyId)) throw error;
      throw new Damaged(`the vault's entry for key ${keyId} does not verify`, { part: 'vault', keyId, cause: error });
    }
  }
}

/** The insert as a batch of one record. */
const batchOfOne = (call: InsertCall): InsertBatchCall => ({
  op: 'insertBatch',
  count: 1,
  vectors: call.vector,
  metadata: [call.metadata],
  texts: [call.text === null ? null : Buffer.from(call.text)],
  requestIds: [call.requestId],
  ...(call.expiresAtMs !== undefined && { expiresAtMs: [call.expiresAtMs] }),
  ...(call.ttlMs !== undefined && { ttlMs: call.ttlMs }),
  ...(call.keyId !== undefined && { keyIds: [call.keyId] }),
});

function targetOf(config: CollectionConfig): PayloadTarget {
  const { project, id: collectionId } = config;
  return { project, collectionId, genesisId: genesisOf(config).collectionId };
}

/** Returns the keys of the contents of a collection that is being opened. Damage to one of them is damage to the collection. */
export function contentKeysOf(
  config: CollectionConfig,
  { vault, clock, logger }: { readonly vault: RecordVault; readonly clock: Clock; readonly logger: Logger },
): ContentKeys {
  const target = targetOf(config);
  const source: KeySource = async (keyIds) => {
    try {
      const keys = await vault.dataKeys(target, keyIds);
      const gone = keys.filter((key) => key === null).length;
      if (gone > 0) logger.info({ collectionId: config.id, keys: gone }, 'contents are lost with their keys');
      return keys;
    } catch (error) {
      if (!(error instanceof KeyDamaged)) throw error;
      throw new Damaged(error.message, { part: 'vault', cause: error });
    }
  };
  return new ContentKeys(target.genesisId, source, clock, (keyId) =>
    logger.warn({ collectionId: config.id, keyId }, 'contents are under another key with this id, and are lost'),
  );
}
