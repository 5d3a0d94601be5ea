/**
 * The records of a log during its replay: the leaf and status of each. Values stay in the log and are read again when a change
 * needs them; the leaf shows that they are unchanged.
 */
import { equal, toHex } from './bytes.js';
import { type Insert, type InsertEncrypted, readEvent, type UnderKey } from './events.js';
import { ABSENT } from './hashing.js';
import { Leaves } from './leaves.js';
import { Impossible } from './reading.js';
import { type EncryptedValues, leafOf, type RecordValues, type UnderKeyValues } from './records.js';

/** The place of an event: `offset` in the frame at `position`. */
export interface EventPlace {
  readonly position: number;
  readonly offset: number;
  readonly length: number;
}

export type ReadAgain = (place: EventPlace) => Promise<Uint8Array>;

const STATE_NODE = 0x11;

/** `shredded`: live until its key was shredded. */
type Status = 'deleted' | 'live' | 'tombstoned' | 'shredded';

interface Key {
  /** Ids of the records that are or were under the key. */
  readonly recordIds: Set<number>;
  shredded: boolean;
}

export class RecordTable {
  readonly leaves = new Leaves(STATE_NODE);
  // The place of each record's content, at index record id − 1, in several arrays: a million objects would take far more memory.
  readonly #status: Status[] = [];
  readonly #positions: number[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
  /** The key of each record that is under one, in hex. */
  readonly #keyOf = new Map<number, string>();
  /** The last update of each record whose metadata was updated. */
  readonly #updates = new Map<number, EventPlace>();
  readonly #keys = new Map<string, Key>();
  /** External id of a live record, in hex → its id, and the other way round. */
  readonly #named = new Map<string, bigint>();
  readonly #names = new Map<bigint, string>();
  #live = 0;

  constructor(private readonly readAgain: ReadAgain) {}

  get live(): number {
    return this.#live;
  }

  /** See `LogReport`. */
  get encrypted(): number {
    return this.#keyOf.size;
  }

  get shreddedKeys(): number {
    return [...this.#keys.values()].filter(({ shredded }) => shredded).length;
  }

  /** The ids of the keys of contents and payloads in the log, in hex, except shredded keys. */
  get openKeys(): string[] {
    return [...this.#keys].flatMap(([keyHex, { shredded }]) => (shredded ? [] : [keyHex])).sort();
  }

  insert(event: Insert, place: EventPlace): void {
    const { recordId: id, externalId } = event;
    this.#append(id, place, () => leafOf(valuesOf(event)));
    if (externalId === null) return;
    const name = toHex(externalId);
    if (this.#named.has(name)) throw new Impossible('inserts under an external id that a live record has');
    this.#named.set(name, id);
    this.#names.set(id, name);
  }

  replace(event: Insert, place: EventPlace): void {
    const { recordId: id, externalId } = event;
    this.assertLive(id);
    this.#assertPlain(id);
    if (externalId === null || this.#named.get(toHex(externalId)) !== id)
      throw new Impossible('replaces a record under an external id that the record does not have');
    const index = Number(id) - 1;
    this.leaves.set(index, leafOf(valuesOf(event)));
    this.#updates.delete(index);
    this.#setPlace(index, place);
  }

  insertEncrypted(event: InsertEncrypted, place: EventPlace): void {
    const { recordId: id, timeMs: insertedMs, tag, nonce, ciphertext, expiresAtMs } = event;
    const { keyId } = event;
    this.#assertUnshredded(keyId);
    const values = { id, insertedMs, tag, keyId, nonce, ciphertext, expiresAtMs };
    this.#append(id, place, () => leafOf({ state: 'live', ...values }));
    this.#putUnder(keyId, id);
  }

  insertUnderKey(event: UnderKey, place: EventPlace): void {
    this.#assertUnshredded(event.keyId);
    this.#append(event.recordId, place, () => leafOf(valuesUnderKey(event)));
    this.#putUnder(event.keyId, event.recordId);
  }

  /** The external id of the new content is not known. */
  replaceUnderKey(event: UnderKey, place: EventPlace): void {
    const { recordId: id, keyId } = event;
    this.assertLive(id);
    this.#assertUnshredded(keyId);
    const index = Number(id) - 1;
    this.leaves.set(index, leafOf(valuesUnderKey(event)));
    this.#forgetName(id);
    this.#updates.delete(index);
    this.#setPlace(index, place);
    this.#putUnder(keyId, id);
  }

  async updateUnderKey({ recordId: id, keyId, commitment }: UnderKey, place: EventPlace): Promise<void> {
    this.assertLive(id);
    const index = Number(id) - 1;
    const values = await this.#values(index);
    if (!('commitment' in values) || !equal(values.keyId, keyId))
      throw new Impossible('updates a record that is not under this key');
    this.leaves.set(index, leafOf({ ...values, commitment }));
    this.#updates.set(index, place);
  }

  shred(keyId: Uint8Array): void {
    const keyHex = toHex(keyId);
    const key = this.#keys.get(keyHex) ?? { recordIds: new Set(), shredded: false };
    if (key.shredded) throw new Impossible('shreds a key a second time');
    key.shredded = true;
    this.#keys.set(keyHex, key);
    for (const id of key.recordIds) {
      if (this.#status[id - 1] !== 'live' || this.#keyOf.get(id) !== keyHex) continue;
      this.#status[id - 1] = 'shredded';
      this.#live--;
    }
  }

  async softDelete(id: bigint): Promise<void> {
    this.assertLive(id);
    const index = Number(id) - 1;
    this.leaves.set(index, leafOf({ ...(await this.#values(index)), state: 'tombstoned' }));
    this.#status[index] = 'tombstoned';
    this.#live--;
    this.#forgetName(id);
  }

  async updateMetadata(id: bigint, metadata: Uint8Array, place: EventPlace): Promise<void> {
    this.assertLive(id);
    const index = Number(id) - 1;
    const values = await this.#values(index);
    if (!('metadata' in values)) throw new Impossible('updates the metadata of a record that is under a key');
    this.leaves.set(index, leafOf({ ...values, metadata }));
    this.#updates.set(index, place);
  }

  delete(id: bigint): void {
    const index = Number(id) - 1;
    const status = this.#status[index] ?? 'deleted';
    if (status === 'deleted') throw new Impossible('deletes a record that is not there');
    if (status === 'live') this.#live--;
    this.leaves.set(index, ABSENT);
    this.#status[index] = 'deleted';
    this.#updates.delete(index);
    this.#forgetName(id);
  }

  /** Frees the external id of a record that is no longer live. */
  #forgetName(id: bigint): void {
    const name = this.#names.get(id);
    if (name === undefined) return;
    this.#names.delete(id);
    this.#named.delete(name);
  }

  assertLive(id: bigint): void {
    if (this.#status[Number(id) - 1] !== 'live') throw new Impossible('is about a record that is not live');
  }

  #assertPlain(id: bigint): void {
    if (this.#keyOf.has(Number(id))) throw new Impossible('replaces a record that is under a key, and not under it');
  }

  #assertUnshredded(keyId: Uint8Array): void {
    if (this.#keys.get(toHex(keyId))?.shredded === true) throw new Impossible('writes under a key that is shredded');
  }

  #putUnder(keyId: Uint8Array, id: bigint): void {
    const keyHex = toHex(keyId);
    const key = this.#keys.get(keyHex) ?? { recordIds: new Set(), shredded: false };
    this.#keys.set(keyHex, key);
    key.recordIds.add(Number(id));
    this.#keyOf.set(Number(id), keyHex);
  }

  #append(id: bigint, place: EventPlace, leaf: () => Uint8Array): void {
    if (id !== BigInt(this.leaves.size) + 1n) throw new Impossible('gives a record id out of order');
    this.leaves.push(leaf());
    this.#status.push('live');
    this.#setPlace(this.#status.length - 1, place);
    this.#live++;
  }

  #setPlace(index: number, { position, offset, length }: EventPlace): void {
    this.#positions[index] = position;
    this.#offsets[index] = offset;
    this.#lengths[index] = length;
  }

  /** The values of the live record at `index`, from the log. */
  async #values(index: number): Promise<RecordValues | EncryptedValues | UnderKeyValues> {
    const position = this.#positions[index]!;
    const place = { position, offset: this.#offsets[index]!, length: this.#lengths[index]! };
    const event = readEvent(await this.readAgain(place), 'its content');
    const values = 'commitment' in event ? valuesUnderKey(event) : valuesOf(event as Insert | InsertEncrypted);
    const update = this.#updates.get(index);
    const current = update === undefined ? values : { ...values, ...(await this.#updateAt(update)) };
    if (!equal(leafOf(current), this.leaves.get(index)))
      throw new Impossible('is about a record whose stored bytes have changed: the log changes while it is read');
    return current;
  }

  async #updateAt(place: EventPlace): Promise<Pick<RecordValues, 'metadata'> | Pick<UnderKeyValues, 'commitment'>> {
    const event = readEvent(await this.readAgain(place), 'its update');
    if ('commitment' in event) return { commitment: event.commitment };
    return { metadata: event.type === 'update metadata' ? event.metadata : null };
  }
}

function valuesOf(event: Insert): RecordValues;
function valuesOf(event: Insert | InsertEncrypted): RecordValues | EncryptedValues;
function valuesOf(event: Insert | InsertEncrypted): RecordValues | EncryptedValues {
  const { recordId: id, timeMs: insertedMs, ...rest } = event;
  return { ...rest, state: 'live', id, insertedMs };
}

const valuesUnderKey = ({ recordId: id, timeMs, keyId, commitment, expiresAtMs }: UnderKey): UnderKeyValues => ({
  ...{ state: 'live', id, insertedMs: timeMs, expiresAtMs },
  // Copies, since the bytes of the event are overwritten later.
  ...{ keyId: keyId.slice(), commitment: commitment.slice() },
});
