/**
 * The records of a log during its replay: the leaf and status of each. Values stay in the log and are read again when a change
 * needs them; the leaf shows that they are unchanged.
 */
import { equal, toHex } from './bytes.js';
import { type Insert, type InsertEncrypted, readEvent } from './events.js';
import { ABSENT } from './hashing.js';
import { Leaves } from './leaves.js';
import { Impossible } from './reading.js';
import { type EncryptedValues, leafOf, type RecordValues } from './records.js';

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
  readonly recordIds: number[];
  shredded: boolean;
}

export class RecordTable {
  readonly leaves = new Leaves(STATE_NODE);
  // The place of each record's content, at index record id − 1, in several arrays: a million objects would take far more memory.
  readonly #status: Status[] = [];
  readonly #positions: number[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
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

  get encrypted(): number {
    return [...this.#keys.values()].reduce((sum, { recordIds }) => sum + recordIds.length, 0);
  }

  get shreddedKeys(): number {
    return [...this.#keys.values()].filter(({ shredded }) => shredded).length;
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
    if (externalId === null || this.#named.get(toHex(externalId)) !== id)
      throw new Impossible('replaces a record under an external id that the record does not have');
    const index = Number(id) - 1;
    this.leaves.set(index, leafOf(valuesOf(event)));
    this.#updates.delete(index);
    this.#setPlace(index, place);
  }

  insertEncrypted(event: InsertEncrypted, place: EventPlace): void {
    const { recordId: id, timeMs: insertedMs, tag, nonce, ciphertext, expiresAtMs } = event;
    const keyHex = toHex(event.keyId);
    const key = this.#keys.get(keyHex) ?? { recordIds: [], shredded: false };
    if (key.shredded) throw new Impossible('inserts under a key that is shredded');
    // A copy, since the bytes of the event are overwritten later.
    const keyId = new Uint8Array(event.keyId);
    const values = { id, insertedMs, tag, keyId, nonce, ciphertext, expiresAtMs };
    this.#append(id, place, () => leafOf({ state: 'live', ...values }));
    this.#keys.set(keyHex, key);
    key.recordIds.push(Number(id));
  }

  shred(keyId: Uint8Array): void {
    const keyHex = toHex(keyId);
    const key = this.#keys.get(keyHex) ?? { recordIds: [], shredded: false };
    if (key.shredded) throw new Impossible('shreds a key a second time');
    key.shredded = true;
    this.#keys.set(keyHex, key);
    for (const id of key.recordIds) {
      if (this.#status[id - 1] !== 'live') continue;
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
    if ('ciphertext' in values) throw new Impossible('updates the metadata of an encrypted record');
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
  async #values(index: number): Promise<RecordValues | EncryptedValues> {
    const position = this.#positions[index]!;
    const place = { position, offset: this.#offsets[index]!, length: this.#lengths[index]! };
    const event = readEvent(await this.readAgain(place), 'its content');
    const values = valuesOf(event as Insert | InsertEncrypted);
    const update = this.#updates.get(index);
    const current = update === undefined ? values : { ...values, metadata: await this.#metadataAt(update) };
    if (!equal(leafOf(current), this.leaves.get(index)))
      throw new Impossible('is about a record that reads otherwise than before: the log changes while it is read');
    return current;
  }

  async #metadataAt(place: EventPlace): Promise<Uint8Array | null> {
    const event = readEvent(await this.readAgain(place), 'its update');
    return event.type === 'update metadata' ? event.metadata : null;
  }
}

function valuesOf(event: Insert): RecordValues;
function valuesOf(event: Insert | InsertEncrypted): RecordValues | EncryptedValues;
function valuesOf(event: Insert | InsertEncrypted): RecordValues | EncryptedValues {
  const { recordId: id, timeMs: insertedMs, ...rest } = event;
  return { ...rest, state: 'live', id, insertedMs };
}
