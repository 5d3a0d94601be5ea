/** Checks a whole log, from its genesis, and replays it in the plainest way to the state it leads to. */

import { ABSENT, chainHead, eventHash, H, stateHash, stateRoot } from '../../../scripts/verifier/hashing.js';
import { Reading } from '../../../scripts/verifier/reading.js';
import { leafOf, type RecordValues } from '../../../scripts/verifier/records.js';
import { treeHash } from '../../../scripts/verifier/tree.js';
import { type LogEvent, readEvent } from './events.js';
import { GraphReplay } from './graph.js';

/** One committed event (or the genesis, first), as receipts refer to it. */
export interface ChainLink {
  readonly event: LogEvent;
  readonly eventHash: Buffer;
  readonly headBefore: Buffer;
  readonly headAfter: Buffer;
}

export interface LogReport {
  /** Why the log does not hold; nothing where it does. All else describes it up to the first problem. */
  readonly problems: readonly string[];
  /** Committed events, the genesis not counted. */
  readonly sequence: bigint;
  readonly timeMs: bigint;
  readonly liveRecords: number;
  readonly chainHead: string;
  readonly configHash: string;
  readonly stateRoot: string;
  readonly graphRoot: string;
  readonly stateHash: string;
  /** By sequence. */
  readonly links: readonly ChainLink[];
  /** At index record id − 1. */
  readonly records: readonly (RecordValues | 'deleted')[];
}

export function verifyLog(frames: readonly Uint8Array[]): LogReport {
  const replay = new Replay();
  const problems: string[] = [];
  try {
    for (const [index, frame] of frames.entries()) replay.frame(Buffer.from(frame), `frame ${index}`);
    if (frames.length === 0) problems.push('the log is empty');
  } catch (error) {
    problems.push((error as Error).message);
  }
  return { problems, ...replay.summary() };
}

class Replay {
  readonly #links: ChainLink[] = [];
  readonly #records: (RecordValues | 'deleted')[] = [];
  readonly #graph = new GraphReplay();
  #dimension = 0;
  #logBytes = 0n;

  frame(bytes: Buffer, what: string): void {
    const reading = new Reading(bytes, what);
    if (reading.take(4).toString('latin1') !== 'VFR1') reading.fail('does not begin with VFR1');
    const count = reading.u32();
    if (count === 0) reading.fail('has no event');
    if (reading.u64() !== BigInt(this.#links.length)) reading.fail('does not begin with the next sequence');
    if (reading.u64() !== this.#logBytes) reading.fail('does not stand after the bytes before it');
    const liveRecords = reading.u64();
    if (!reading.take(32).equals(this.#head)) reading.fail('continues another chain');
    const checksum = H(bytes.subarray(0, -16)).subarray(0, 16);
    if (!bytes.subarray(-16).equals(checksum)) reading.fail('does not match its checksum');
    for (let i = 0; i < count; i++) this.#event(reading.take(reading.u32()), `${what}, event ${i}`);
    if (!reading.take(32).equals(this.#head)) reading.fail('ends with another chain head than its events lead to');
    if (liveRecords !== BigInt(this.#liveRecords)) reading.fail(`counts ${liveRecords} live records`);
    reading.take(16);
    reading.end();
    this.#logBytes += BigInt(bytes.length);
  }

  summary(): Omit<LogReport, 'problems'> {
    const root = stateRoot(BigInt(this.#records.length), treeHash(this.#records.map(leafOf)));
    const last = this.#links.at(-1)?.event;
    const { sequence, timeMs } = last ?? { sequence: 0n, timeMs: 0n };
    const configHash = this.#links[0]?.eventHash ?? ABSENT;
    const head = this.#head;
    const graphRoot = this.#graph.root();
    return {
      sequence,
      timeMs,
      liveRecords: this.#liveRecords,
      chainHead: head.toString('hex'),
      configHash: configHash.toString('hex'),
      stateRoot: root.toString('hex'),
      graphRoot: graphRoot.toString('hex'),
      stateHash: stateHash({
        configHash,
        stateRoot: root,
        graphRoot,
        chainHead: head,
        sequence,
        timeMs,
      }).toString('hex'),
      links: this.#links,
      records: this.#records,
    };
  }

  get #head(): Buffer {
    return this.#links.at(-1)?.headAfter ?? ABSENT;
  }

  get #liveRecords(): number {
    return this.#records.filter((record) => record !== 'deleted' && record.state === 'live').length;
  }

  #event(bytes: Buffer, what: string): void {
    const event = readEvent(bytes, what);
    if (event.sequence !== BigInt(this.#links.length)) throw new Error(`${what} has sequence ${event.sequence}`);
    if (event.timeMs < (this.#links.at(-1)?.event.timeMs ?? 0n)) throw new Error(`${what} goes back in time`);
    this.#apply(event, what);
    const hash = eventHash(bytes);
    const headBefore = this.#head;
    this.#links.push({ event, eventHash: hash, headBefore, headAfter: chainHead(headBefore, hash) });
  }

  #apply(event: LogEvent, what: string): void {
    switch (event.type) {
      case 'genesis':
        this.#dimension = event.dimension;
        return;
      case 'insert': {
        if (event.recordId !== BigInt(this.#records.length) + 1n) throw new Error(`${what} gives an id out of order`);
        if (event.vector.length !== 4 * this.#dimension) throw new Error(`${what} has another dimension`);
        this.#records.push({ ...event, state: 'live', id: event.recordId, insertedMs: event.timeMs });
        return;
      }
      case 'soft delete':
        this.#replace({ ...this.#live(event.recordId, what), state: 'tombstoned' });
        return;
      case 'update metadata':
        this.#replace({ ...this.#live(event.recordId, what), metadata: event.metadata });
        return;
      case 'delete': {
        const record = this.#records[Number(event.recordId) - 1];
        if (record === undefined || record === 'deleted') throw new Error(`${what} deletes what is not there`);
        this.#records[Number(event.recordId) - 1] = 'deleted';
        this.#graph.recordDeleted(event.recordId);
        return;
      }
      case 'add node':
        if (event.recordId !== 0n) this.#live(event.recordId, what);
        this.#graph.apply(event, what);
        return;
      default:
        this.#graph.apply(event, what);
    }
  }

  #live(recordId: bigint, what: string): RecordValues {
    const record = this.#records[Number(recordId) - 1];
    if (record === undefined || record === 'deleted' || record.state !== 'live')
      throw new Error(`${what} changes a record that is not live`);
    return record;
  }

  #replace(record: RecordValues): void {
    this.#records[Number(record.id) - 1] = record;
  }
}
