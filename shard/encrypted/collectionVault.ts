/** What one collection does with the vault: seals what is to be committed, and opens what was. */
import type { CollectionConfig, InsertEncryptedCall, Results } from '../../shared/calls.js';
import { VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import { type Event, genesisOf, type InsertEncrypted } from '../../shared/log/event.js';
import type { CollectionState } from '../collection/collectionState.js';
import { Damaged } from '../collection/damaged.js';
import { missing, noRoom } from '../collection/framePlan.js';
import type { Journal } from '../collection/journal.js';
import { type AppliedRequest, requestKey } from '../collection/requestWindow.js';
import type { Quota } from '../quota.js';
import { shredded } from './encryptedPlan.js';
import { contentHashOf, type EncryptedRecord } from './encryptedRecords.js';
import { KeyDamaged, type RecordVault, recordShredded, type SealedFor } from './recordVault.js';
import type { SealedInsert } from './sealedCall.js';

const CHECKED_AT_ONCE = 4;

export class CollectionVault {
  readonly #target: SealedFor;

  constructor(
    private readonly config: CollectionConfig,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly vault: RecordVault,
    private readonly quota: Quota,
  ) {
    const { project, id: collectionId } = config;
    this.#target = { project, collectionId, genesisId: genesisOf(config).collectionId };
  }

  /** The answer to an insert whose request id is known; undefined where it is new, or has none. */
  async replay(requestId: Uint8Array | null): Promise<Results['insertEncrypted'] | undefined> {
    const applied = requestId === null ? undefined : this.state.findRequest(requestKey(requestId));
    return applied && this.replayOf(applied);
  }

  /** Throws `validation_error` where the request id belongs to a record with a vector. */
  async replayOf({ recordId, sequence }: AppliedRequest): Promise<Results['insertEncrypted']> {
    const event = await this.journal.eventAt(sequence);
    if (event.type === 'insertEncrypted') return { id: recordId, keyId: toHex(event.keyId) };
    throw new VouchError('validation_error', `the request id belongs to record ${recordId}, which is not encrypted`);
  }

  /**
   * The write as it may be committed. The key's entry lists the collection from then on. What the log would refuse is
   * refused here as far as it is known, so that no key is made for it; the plan of the commit has the last word. Throws
   * Damaged where the entry is, and records of this collection depend on it.
   */
  async seal(call: InsertEncryptedCall, deadlineMs: number): Promise<SealedInsert> {
    const { payload, keyId, tag, requestId } = call;
    if (keyId !== null && this.state.encrypted.isShredded(keyId)) throw shredded(keyId);
    await this.#assertRoom();
    const mustExist = keyId !== null && this.#uses(keyId);
    const sealed = await this.#noticingDamage(keyId, () =>
      this.vault.seal(this.#target, payload, { keyId, mustExist, deadlineMs }),
    );
    return { op: 'insertEncrypted', tag, requestId, ...sealed };
  }

  /** Before events of an import are stored: a shred of their keys is a shred here too. */
  async enter(events: readonly Event[], deadlineMs: number): Promise<void> {
    const keyIds = events.flatMap((event) => (event.type === 'insertEncrypted' ? [toHex(event.keyId)] : []));
    for (const keyId of new Set(keyIds)) await this.vault.enter(this.#target, keyId, deadlineMs);
  }

  /** Throws VouchError `record_not_found`, `record_shredded` or what the vault throws; Damaged as `seal`. */
  async read(recordId: number): Promise<Results['getEncrypted']> {
    const record = this.state.encrypted.get(recordId);
    if (record === undefined || record.isTombstoned) throw missing(recordId);
    const { keyId } = record;
    if (this.state.encrypted.isShredded(keyId)) throw recordShredded(keyId);
    const { nonce, ciphertext } = await this.#eventOf(record);
    const payload = await this.#noticingDamage(keyId, () =>
      this.vault.open(this.#target, { keyId, nonce, ciphertext }),
    );
    return { id: recordId, keyId, payload };
  }

  /** Of one that live records may stand under. False where nothing is known of its entry. Throws as `seal`. */
  async checkKey(keyId: string): Promise<boolean> {
    return !this.#uses(keyId) || (await this.#noticingDamage(keyId, () => this.vault.check(this.#target, keyId)));
  }

  /** All of them. `rest` is awaited after each few. Resolves to how many there are, and how many could not be opened. */
  async checkKeys(
    rest: (entries: number) => Promise<void>,
  ): Promise<{ readonly keys: number; readonly closed: number }> {
    let [keys, closed, isOver] = [0, 0, false];
    const live = this.state.encrypted.liveKeys();
    while (!isOver) {
      const some = Array.from({ length: CHECKED_AT_ONCE }, () => live.next().value ?? '').filter(Boolean);
      isOver = some.length < CHECKED_AT_ONCE;
      const checked = await Promise.all(some.map((keyId) => this.checkKey(keyId)));
      keys += checked.length;
      closed += checked.filter((isOpened) => !isOpened).length;
      if (checked.length > 0) await rest(checked.length);
    }
    return { keys, closed };
  }

  #uses(keyId: string): boolean {
    return this.state.encrypted.standingUnder(keyId) > 0 && !this.state.encrypted.isShredded(keyId);
  }

  async #assertRoom(): Promise<void> {
    const { project, id } = this.config;
    const live = this.state.liveRecords;
    const { records, isFinal } = await this.quota.grant(project, id, live + 1);
    if (records <= live) throw noRoom(0, 1, isFinal);
  }

  async #eventOf({ id, sequence, contentHash }: EncryptedRecord): Promise<InsertEncrypted> {
    const event = await this.journal.eventAt(sequence);
    if (event.type === 'insertEncrypted' && event.recordId === id && contentHashOf(event) === contentHash) return event;
    throw new Damaged(`event ${sequence}: the log holds another one than when it was read first`);
  }

  /** Damage to the key of another collection's records is told to who asks, and does no harm here. */
  async #noticingDamage<T>(keyId: string | null, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KeyDamaged) || keyId === null || !this.#uses(keyId)) throw error;
      throw new Damaged(`the vault's entry for key ${keyId} does not verify`, { part: 'vault', keyId, cause: error });
    }
  }
}
