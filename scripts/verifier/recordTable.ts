/**
 * The records of a log while it is replayed: of each its leaf and what may happen to it next. What a record holds stays in
 * the log and is read again when a change needs it; that it is the same again is seen by its leaf.
 */
import { type Insert, type InsertEncrypted, readEvent } from './events.js';
import { ABSENT } from './hashing.js';
import { Leaves } from './leaves.js';
import { Impossible } from './reading.js';
import { type EncryptedValues, leafOf, type RecordValues } from './records.js';

/** Where an event stands: at `offset` in the frame at `position`. */
export interface EventPlace {
  readonly position: number;
  readonly offset: number;
  readonly length: number;
}

export type ReadAgain = (place: EventPlace) => Promise<Buffer>;

const STATE_NODE = 0x11;

/** shredded: live until its key was. */
type Status = 'deleted' | 'live' | 'tombstoned' | 'shredded';

interface Key {
  readonly recordIds: number[];
  shredded: boolean;
}

export class RecordTable {
  readonly leaves = new Leaves(STATE_NODE);
  // At index record id − 1, the place of its insert in parts: a million objects would take far more.
  readonly #status: Status[] = [];
  readonly #positions: number[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];
  /** Of records whose metadata was updated: the last update. */
  readonly #updates = new Map<number, EventPlace>();
  readonly #keys = new Map<string, Key>();
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
    const { recordId: id, timeMs: insertedMs, tag, vector, metadata, text } = event;
    this.#append(id, place, () => leafOf({ state: 'live', id, insertedMs, tag, vector, metadata, text }));
  }

  insertEncrypted(event: InsertEncrypted, place: EventPlace): void {
    const { recordId: id, timeMs: insertedMs, tag, nonce, ciphertext } = event;
    const keyHex = event.keyId.toString('hex');
    const key = this.#keys.get(keyHex) ?? { recordIds: [], shredded: false };
    if (key.shredded) throw new Impossible('inserts under a key that is shredded');
    // A copy: the bytes of an event are not kept.
    const keyId = Buffer.from(event.keyId);
    this.#append(id, place, () => leafOf({ state: 'live', id, insertedMs, tag, keyId, nonce, ciphertext }));
    this.#keys.set(keyHex, key);
    key.recordIds.push(Number(id));
  }

  shred(keyId: Buffer): void {
    const keyHex = keyId.toString('hex');
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
  }

  async updateMetadata(id: bigint, metadata: Buffer, place: EventPlace): Promise<void> {
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
  }

  assertLive(id: bigint): void {
    if (this.#status[Number(id) - 1] !== 'live') throw new Impossible('is about a record that is not live');
  }

  #append(id: bigint, { position, offset, length }: EventPlace, leaf: () => Buffer): void {
    if (id !== BigInt(this.leaves.size) + 1n) throw new Impossible('gives a record id out of order');
    this.leaves.push(leaf());
    this.#status.push('live');
    this.#positions.push(position);
    this.#offsets.push(offset);
    this.#lengths.push(length);
    this.#live++;
  }

  /** The record at `index`, live, as the log tells it. */
  async #values(index: number): Promise<RecordValues | EncryptedValues> {
    const position = this.#positions[index]!;
    const place = { position, offset: this.#offsets[index]!, length: this.#lengths[index]! };
    const event = readEvent(await this.readAgain(place), 'its insert');
    const values = valuesOf(event as Insert | InsertEncrypted);
    const update = this.#updates.get(index);
    const current = update === undefined ? values : { ...values, metadata: await this.#metadataAt(update) };
    if (!leafOf(current).equals(this.leaves.get(index)))
      throw new Impossible('is about a record that reads otherwise than before: the log changes while it is read');
    return current;
  }

  async #metadataAt(place: EventPlace): Promise<Buffer | null> {
    const event = readEvent(await this.readAgain(place), 'its update');
    return event.type === 'update metadata' ? event.metadata : null;
  }
}

function valuesOf(event: Insert | InsertEncrypted): RecordValues | EncryptedValues {
  const { recordId: id, timeMs: insertedMs, ...rest } = event;
  return { ...rest, state: 'live', id, insertedMs };
}
