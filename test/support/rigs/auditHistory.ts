/**
 * A random history of a collection, written only with the engine's log and audit parts, to compare with the verifier.
 */
import { type LeafRecord, leafHash, RECORD_STATE } from '../../../shard/audit/leaf.js';
import { makeReceipt } from '../../../shard/audit/receipt.js';
import { StateTree } from '../../../shard/audit/stateTree.js';
import { EMPTY_HASH } from '../../../shared/hashing/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../../shared/log/chain.js';
import { type Event, genesisOf, type Insert, type RecordEvent } from '../../../shared/log/event.js';
import { buildFrame, chainHeadBefore, type Frame, hashAt } from '../../../shared/log/frame.js';
import { type Actor, SYSTEM } from '../../../shared/model/actor.js';
import type { Receipt } from '../../../shared/model/receipt.js';
import { atOnce } from '../../../shared/scheduling/slice.js';
import type { SeededRandom } from '../model/random.js';

export const noPause = async (): Promise<void> => {};

const DIMENSION = 3;
const CONFIG = {
  id: 17,
  project: 'default',
  name: 'letters',
  dimension: DIMENSION,
  metric: 'squared_l2',
  createdAtMs: 1_700_000_000_000,
} as const;

/** A provable write: its place, and the record after it. */
export interface Write {
  readonly frame: Frame;
  readonly index: number;
  readonly recordId: number;
  readonly leaves: number;
  readonly record: LeafRecord | 'deleted';
  /** Made while the write was the newest. */
  readonly receipt: Receipt;
}

const ACTORS: readonly (Actor | null)[] = [null, SYSTEM, { keyId: 'k-1', onBehalfOf: 'u-17', requestId: 'r-1' }];

export class History {
  readonly tree = new StateTree();
  readonly frames: Frame[] = [];
  /** Entry `sequence − 1` is the write with that sequence. */
  readonly writes: Write[] = [];
  readonly #records: (LeafRecord | 'deleted')[] = [];
  #end: LogEnd = EMPTY_LOG;
  #planned: Event[] = [];
  #nextId = 1;
  #timeMs: number = CONFIG.createdAtMs;

  constructor(private readonly random: SeededRandom) {}

  /** Hash of the genesis. */
  get configHash(): Uint8Array {
    return hashAt(this.frames[0]!.eventHashes, 0);
  }

  /** Commits one frame of `writes` random writes. */
  async commit(writes: number): Promise<void> {
    this.#planned = this.#end === EMPTY_LOG ? [genesisOf(CONFIG)] : [];
    const touched = new Set<number>();
    for (let i = 0; i < writes; i++) this.#planned.push(this.#randomWrite(touched));
    const frame = await buildFrame(this.#planned, this.#end, this.#liveAfter(), noPause);
    this.frames.push(frame);
    this.#end = frame.end;
    for (const [index, event] of frame.events.entries()) if (isOfRecord(event)) this.#apply(event, frame, index);
  }

  /** Receipt of a write of any age. `previous`: the receipt of the write before. */
  receiptOf({ frame, index, recordId, leaves }: Omit<Write, 'receipt' | 'record'>, previous?: Receipt): Receipt {
    const { sequence, timeMs, actor } = frame.events[index]!;
    const facts = {
      recordId,
      sequence,
      timeMs,
      actor,
      chainHeadBefore: chainHeadBefore(frame, index),
      chainHead: hashAt(frame.chainHeads, index),
      eventHash: hashAt(frame.eventHashes, index),
      graphRoot: EMPTY_HASH,
      configHash: this.configHash,
    };
    return makeReceipt(facts, atOnce(this.tree.pastWrite(recordId - 1, leaves, sequence)), previous);
  }

  /** Touches a record at most once per frame, which keeps the plan simple. */
  #randomWrite(touched: Set<number>): Event {
    this.#timeMs += this.random.int(3) * 700;
    const dated = {
      sequence: this.#end.nextSequence + this.#planned.length,
      timeMs: this.#timeMs,
      actor: this.random.pick(ACTORS),
    };
    const index = this.random.int(this.#records.length);
    const record = this.#records[index];
    const recordId = index + 1;
    if (this.random.next() < 0.6 || record === undefined || record === 'deleted' || touched.has(recordId))
      return { type: 'insert', ...dated, recordId: this.#nextId, ...this.#values(), ...this.#named(this.#nextId++) };
    touched.add(recordId);
    if (this.random.next() < 0.3 || record.state === RECORD_STATE.tombstoned)
      return { type: 'delete', ...dated, recordId };
    if (record.externalId !== null && this.random.next() < 0.5)
      return { type: 'replace', ...dated, recordId, ...this.#values(), externalId: record.externalId };
    if (this.random.next() < 0.5) return { type: 'softDelete', ...dated, recordId };
    return { type: 'updateMetadata', ...dated, recordId, metadata: this.#bytes(this.random.int(20)) };
  }

  #values(): Pick<Insert, 'tag' | 'requestId' | 'vector' | 'metadata' | 'text'> {
    return {
      tag: this.random.pick([0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER]),
      requestId: this.random.next() < 0.5 ? null : this.#bytes(16),
      vector: this.#bytes(4 * DIMENSION),
      metadata: this.random.next() < 0.5 ? null : this.#bytes(this.random.int(20)),
      text: this.random.next() < 0.5 ? null : new TextEncoder().encode(this.random.pick(['', 'a', 'žluťoučký kůň 🐎'])),
    };
  }

  #named(recordId: number): Pick<Insert, 'externalId'> {
    return { externalId: this.random.next() < 0.5 ? null : new TextEncoder().encode(`č ${recordId}`) };
  }

  #bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.random.int(256));
  }

  #liveAfter(): number {
    let live = this.#records.filter((record) => record !== 'deleted' && record.state === RECORD_STATE.live).length;
    for (const event of this.#planned) {
      if (event.type === 'insert') live++;
      if (event.type === 'softDelete') live--;
      const record = event.type === 'delete' ? this.#records[event.recordId - 1] : undefined;
      if (record !== undefined && record !== 'deleted' && record.state === RECORD_STATE.live) live--;
    }
    return live;
  }

  #apply(event: RecordEvent, frame: Frame, index: number): void {
    const { recordId, sequence } = event;
    const record = this.#recordAfter(event);
    this.#records[recordId - 1] = record;
    const leaf = record === 'deleted' ? EMPTY_HASH : leafHash(record);
    if (event.type === 'insert') this.tree.append(leaf);
    else this.tree.change(recordId - 1, leaf, sequence);
    const place = { frame, index, recordId, leaves: this.tree.size };
    this.writes.push({ ...place, record, receipt: this.receiptOf(place, this.writes.at(-1)?.receipt) });
  }

  #recordAfter(event: RecordEvent): LeafRecord | 'deleted' {
    if (event.type === 'insert' || event.type === 'replace') {
      const { recordId: id, timeMs: insertedMs, tag, vector, metadata, text, externalId } = event;
      return { state: RECORD_STATE.live, id, insertedMs, tag, vector, metadata, text, externalId };
    }
    const record = this.#records[event.recordId - 1];
    if (event.type === 'delete' || record === undefined || record === 'deleted') return 'deleted';
    if (event.type === 'updateMetadata') return { ...record, metadata: event.metadata };
    return { ...record, state: RECORD_STATE.tombstoned };
  }
}

const isOfRecord = (event: Event): event is RecordEvent =>
  ['insert', 'replace', 'softDelete', 'delete', 'updateMetadata'].includes(event.type);
