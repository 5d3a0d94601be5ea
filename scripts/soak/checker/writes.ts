/**
 * Finds for every event of a log the calls that may have made it, and holds each against the other: an answered write is
 * there exactly once and as it was answered, an unknown one at most once, a refused one not at all.
 */
import type { BatchCall, InsertCall, RemoveCall, Row, UpdateCall, WriteCall } from '../history.js';
import { type CollectionLog, entryAt, type LoggedEvent } from './log.js';
import type { Violations } from './violations.js';

/** One row that was to be written: it may have been sent several times. */
interface RowSent {
  readonly row: Row;
  readonly attempts: (InsertCall | BatchCall)[];
}

/** By sequence; index 0 is the genesis, before everything. */
export interface Moments {
  /** Not before: the start of the call that made the event. */
  readonly beganMs: Float64Array;
  /** When the client had been told of it; infinite where it never was. */
  readonly answeredMs: Float64Array;
  /** One of the calls that made it. */
  readonly calls: readonly (WriteCall | undefined)[];
}

const NEVER = Number.POSITIVE_INFINITY;
const hadNoEffect = ({ outcome: { kind } }: WriteCall): boolean => kind === 'refused' || kind === 'absent';

export class WriteMatch {
  readonly #rows = new Map<number, RowSent>();
  readonly #updates = new Map<number, UpdateCall>();
  readonly #removes = new Map<string, RemoveCall[]>();
  readonly #batches: BatchCall[] = [];
  /** Where a row or an update stands in the log, by its mark. */
  readonly #sequenceOf = new Map<number, number>();
  readonly #moments: { beganMs: Float64Array; answeredMs: Float64Array; calls: (WriteCall | undefined)[] };

  constructor(
    private readonly log: CollectionLog,
    private readonly calls: readonly WriteCall[],
    private readonly violations: Violations,
  ) {
    const size = log.entries.length + 1;
    const answeredMs = new Float64Array(size).fill(NEVER);
    this.#moments = { beganMs: new Float64Array(size).fill(-NEVER), answeredMs, calls: new Array(size) };
    for (const call of calls) this.#index(call);
  }

  check(): Moments {
    for (const [i, { event }] of this.log.entries.entries()) this.#matchEvent(event, i + 1);
    for (const call of this.calls) if (call.outcome.kind === 'ok') this.#checkAnswered(call);
    for (const { row, attempts } of this.#rows.values()) this.#checkMadeOnce(row, attempts);
    for (const batch of this.#batches) this.#checkWhole(batch);
    return this.#moments;
  }

  #index(call: WriteCall): void {
    switch (call.op) {
      case 'insert':
        this.#indexRow(call.row, call);
        return;
      case 'insertBatch':
        for (const row of call.rows) this.#indexRow(row, call);
        this.#batches.push(call);
        return;
      case 'updateMetadata':
        this.#updates.set(call.metadata.mark, call);
        return;
      default: {
        const key = `${call.op} ${call.id}`;
        const same = this.#removes.get(key);
        if (same === undefined) this.#removes.set(key, [call]);
        else same.push(call);
      }
    }
  }

  #indexRow(row: Row, call: InsertCall | BatchCall): void {
    const sent = this.#rows.get(row.metadata.mark);
    if (sent === undefined) this.#rows.set(row.metadata.mark, { row, attempts: [call] });
    else sent.attempts.push(call);
  }

  #matchEvent(event: LoggedEvent, sequence: number): void {
    const candidates = this.#candidates(event, sequence);
    if (candidates === undefined) return;
    const possible = candidates.filter((call) => !hadNoEffect(call));
    if (possible.length === 0) {
      const kind = candidates.length === 0 ? 'event nobody wrote' : 'refused write in the log';
      this.#violate(kind, `event ${sequence} is ${describeEvent(event)}`, ...candidates);
      return;
    }
    const { beganMs, answeredMs, calls } = this.#moments;
    // Who was told that this very call made the record began no later; else it may be any of those that were sent.
    const maker = possible.find(
      ({ op, outcome }) => op === 'insert' && outcome.kind === 'ok' && !outcome.answer.deduplicated,
    );
    beganMs[sequence] = maker?.startMs ?? Math.min(...possible.map(({ startMs }) => startMs));
    const answered = possible.filter(({ outcome }) => outcome.kind === 'ok');
    answeredMs[sequence] = Math.min(NEVER, ...answered.map(({ endMs }) => endMs));
    calls[sequence] = answered[0] ?? possible[0];
  }

  /** Undefined where what is wrong has been told. */
  #candidates(event: LoggedEvent, sequence: number): readonly WriteCall[] | undefined {
    if (!('metadata' in event)) return this.#removersOf(event.type, event.recordId, sequence);
    const { mark, color } = event.metadata;
    const earlier = this.#sequenceOf.get(mark);
    if (earlier !== undefined) {
      const calls = this.#rows.get(mark)?.attempts ?? [];
      this.#violate('doubled write', `what event ${earlier} did, event ${sequence} does again`, ...calls);
      return undefined;
    }
    this.#sequenceOf.set(mark, sequence);
    if (event.type === 'updateMetadata') {
      const call = this.#updates.get(mark);
      if (call !== undefined && (call.id !== event.recordId || call.metadata.color !== color))
        this.#violate('altered write', `event ${sequence} is ${describeEvent(event)}`, call);
      return call === undefined ? [] : [call];
    }
    const sent = this.#rows.get(mark);
    if (sent !== undefined && !isRow(event, sent.row))
      this.#violate('altered write', `event ${sequence} is ${describeEvent(event)}`, ...sent.attempts);
    return sent?.attempts ?? [];
  }

  /** The one that was told this sequence, or all that do not know what they did. */
  #removersOf(op: 'softDelete' | 'delete', id: number, sequence: number): readonly WriteCall[] {
    const calls = this.#removes.get(`${op} ${id}`) ?? [];
    const told = calls.filter(({ outcome }) => outcome.kind === 'ok' && outcome.answer.sequence === sequence);
    if (told.length > 1) this.#violate('doubled write', `${told.length} calls were told event ${sequence}`, ...told);
    if (told.length > 0) return told;
    const open = calls.filter(({ outcome }) => outcome.kind === 'unknown');
    return open.length > 0 ? open : calls;
  }

  #checkAnswered(call: WriteCall): void {
    if (call.outcome.kind !== 'ok') return;
    switch (call.op) {
      case 'insert': {
        const { id, receipt } = call.outcome.answer;
        this.#checkRow(call, call.row, id);
        const sequence = this.#sequenceOf.get(call.row.metadata.mark);
        if (sequence !== undefined && receipt.sequence !== sequence)
          this.#violate('wrong sequence', `it is event ${sequence}, and was told ${receipt.sequence}`, call);
        return;
      }
      case 'insertBatch': {
        const { ids } = call.outcome.answer;
        for (const [i, row] of call.rows.entries()) this.#checkRow(call, row, ids[i]);
        return;
      }
      default: {
        const { sequence } = call.outcome.answer;
        const event = entryAt(this.log, sequence)?.event;
        const mark = call.op === 'updateMetadata' ? call.metadata.mark : undefined;
        const isThere =
          event?.type === call.op &&
          event.recordId === call.id &&
          (event.type === 'updateMetadata' ? event.metadata.mark : undefined) === mark;
        if (isThere) return;
        const told = event === undefined ? 'there is none' : describeEvent(event);
        this.#violate('lost write', `it was told event ${sequence}; in the log ${told}`, call);
      }
    }
  }

  #checkRow(call: WriteCall, row: Row, id: number | undefined): void {
    const sequence = this.#sequenceOf.get(row.metadata.mark);
    const event = sequence === undefined ? undefined : entryAt(this.log, sequence)?.event;
    if (event === undefined) this.#violate('lost write', `row ${row.metadata.mark} is not in the log`, call);
    else if (event.recordId !== id)
      this.#violate('wrong sequence', `row ${row.metadata.mark} is record ${event.recordId}, and was told ${id}`, call);
  }

  #checkMadeOnce(row: Row, attempts: readonly (InsertCall | BatchCall)[]): void {
    const makers = attempts.filter(
      ({ op, outcome }) => op === 'insert' && outcome.kind === 'ok' && !outcome.answer.deduplicated,
    );
    if (makers.length > 1)
      this.#violate(
        'doubled write',
        `row ${row.metadata.mark} was made ${makers.length} times by what was told`,
        ...makers,
      );
  }

  #checkWhole(batch: BatchCall): void {
    const sequences = batch.rows.map(({ metadata }) => this.#sequenceOf.get(metadata.mark));
    const first = sequences[0];
    const isWhole = sequences.every((sequence, i) => sequence === (first === undefined ? undefined : first + i));
    if (!isWhole) this.#violate('torn batch', `its rows are events ${sequences.join(', ')}`, batch);
  }

  #violate(kind: Parameters<Violations['add']>[0], what: string, ...calls: readonly WriteCall[]): void {
    this.violations.add(kind, this.log.collection, what, ...calls);
  }
}

const isRow = (
  event: Extract<LoggedEvent, { readonly type: 'insert' }>,
  { vector, metadata, requestId }: Row,
): boolean =>
  event.requestId === requestId &&
  event.metadata.color === metadata.color &&
  event.vector.length === vector.length &&
  event.vector.every((value, i) => value === vector[i]);

export const describeEvent = (event: LoggedEvent): string => JSON.stringify(event);
