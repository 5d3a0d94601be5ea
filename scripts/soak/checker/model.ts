/**
 * What a collection was after each event of its log, worked out in the plainest way. A question to it is: was this answer
 * true at some sequence from `from` to `to`, and which is the first? Nothing of the engine is used.
 */
import type { GetCall, SearchCall } from '../history.js';
import type { CollectionLog } from './log.js';

/** Alive from `bornAt` on until before `diedAt`; there, as a tombstone too, until before `goneAt`. */
interface ModelRecord {
  readonly id: number;
  readonly vector: readonly number[];
  readonly bornAt: number;
  diedAt: number;
  goneAt: number;
  /** Oldest first; each holds until the next. */
  readonly versions: { readonly from: number; readonly color: number; readonly mark: number }[];
}

const NEVER = Number.POSITIVE_INFINITY;
/** The records that may be alive are gone through anew after so many events. */
const SIFT_EVERY = 128;

export class Model {
  readonly #records: ModelRecord[] = [];
  /** All records that live at or after `#siftedAt`, by birth. */
  #living: ModelRecord[] = [];
  #siftedAt = 0;

  constructor(log: CollectionLog) {
    log.entries.forEach(({ event }, i) => {
      const sequence = i + 1;
      if (event.type === 'insert') {
        const { recordId: id, vector, metadata } = event;
        const versions = [{ from: sequence, ...metadata }];
        this.#records[id - 1] = { id, vector, bornAt: sequence, diedAt: NEVER, goneAt: NEVER, versions };
        return;
      }
      const record = this.#records[event.recordId - 1];
      if (record === undefined) return;
      if (event.type === 'updateMetadata') record.versions.push({ from: sequence, ...event.metadata });
      else {
        record.diedAt = Math.min(record.diedAt, sequence);
        if (event.type === 'delete') record.goneAt = Math.min(record.goneAt, sequence);
      }
    });
    this.#living = this.#records.filter((record) => record !== undefined);
  }

  /** The first sequence at which the record was not alive; with `orTombstoned` false, not even as a tombstone. */
  firstAbsent(id: number, from: number, to: number, orTombstoned = true): number | undefined {
    const record = this.#records[id - 1];
    if (record === undefined || from < record.bornAt) return from;
    const first = Math.max(from, orTombstoned ? record.diedAt : record.goneAt);
    return first <= to ? first : undefined;
  }

  firstShowing(
    answer: { readonly vector: readonly number[]; readonly metadata: unknown },
    call: GetCall,
    from: number,
    to: number,
  ): number | undefined {
    const record = this.#records[call.id - 1];
    if (record === undefined || !isSame(record.vector, answer.vector)) return undefined;
    for (const [i, version] of record.versions.entries()) {
      if (!isMetadata(answer.metadata, version)) continue;
      const first = Math.max(from, version.from);
      const end = Math.min(to + 1, record.diedAt, record.versions[i + 1]?.from ?? NEVER);
      if (first < end) return first;
    }
    return undefined;
  }

  /** `from` may not go back from call to call, except where `anywhere` is true, which costs a look at every record. */
  firstFinding(
    { ids, scores }: { readonly ids: readonly number[]; readonly scores: readonly number[] },
    { query, k, color }: SearchCall,
    from: number,
    to: number,
    anywhere = false,
  ): number | undefined {
    if (ids.length > k || ids.length !== scores.length) return undefined;
    const span = new Span(from, to);
    const hits = new Set(ids);
    let last: Hit | undefined;
    for (const [i, id] of ids.entries()) {
      const record = this.#records[id - 1];
      const score = scores[i]!;
      if (record === undefined || distance(record.vector, query) !== score) return undefined;
      if (last !== undefined && !isBefore(last, { id, score })) return undefined;
      last = { id, score };
      span.keepOnly(matching(record, color));
    }
    const worst = ids.length < k ? undefined : last;
    for (const record of anywhere ? this.#records : this.#alive(from)) {
      if (record === undefined || record.bornAt > to) continue;
      if (record.diedAt <= from || hits.has(record.id)) continue;
      const better = worst === undefined || isBefore({ id: record.id, score: distance(record.vector, query) }, worst);
      if (better) span.leaveOut(matching(record, color));
    }
    return span.first();
  }

  #alive(from: number): readonly ModelRecord[] {
    if (from - this.#siftedAt >= SIFT_EVERY) {
      this.#living = this.#living.filter(({ diedAt }) => diedAt > from);
      this.#siftedAt = from;
    }
    return this.#living;
  }
}

interface Hit {
  readonly id: number;
  readonly score: number;
}

/** From a sequence on until before another. */
type Interval = readonly [from: number, before: number];

/** When the record was alive and of that colour. */
function* matching({ bornAt, diedAt, versions }: ModelRecord, color: number | null): Generator<Interval> {
  if (color === null) {
    yield [bornAt, diedAt];
    return;
  }
  for (const [i, version] of versions.entries())
    if (version.color === color) yield [version.from, Math.min(diedAt, versions[i + 1]?.from ?? NEVER)];
}

/** The sequences of a range that are still possible. */
class Span {
  readonly #out: Uint8Array;

  constructor(
    private readonly from: number,
    to: number,
  ) {
    this.#out = new Uint8Array(Math.max(0, to - from + 1));
  }

  leaveOut(intervals: Iterable<Interval>): void {
    for (const [from, before] of intervals) if (before > from) this.#out.fill(1, this.#at(from), this.#at(before));
  }

  /** `intervals` in order, without overlap. */
  keepOnly(intervals: Iterable<Interval>): void {
    let end = this.from;
    for (const [from, before] of intervals) {
      if (from > end) this.leaveOut([[end, from]]);
      end = Math.max(end, before);
    }
    this.leaveOut([[end, NEVER]]);
  }

  first(): number | undefined {
    const at = this.#out.indexOf(0);
    return at < 0 ? undefined : this.from + at;
  }

  #at(sequence: number): number {
    return Math.min(this.#out.length, Math.max(0, sequence - this.from));
  }
}

function distance(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return sum;
}

const isBefore = (a: Hit, b: Hit): boolean => a.score < b.score || (a.score === b.score && a.id < b.id);

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

function isMetadata(answer: unknown, { color, mark }: { readonly color: number; readonly mark: number }): boolean {
  const given = answer as { color?: unknown; mark?: unknown } | null;
  return given?.color === color && given.mark === mark;
}
