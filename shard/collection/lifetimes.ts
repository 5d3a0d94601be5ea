/**
 * When the records of a collection were born and died, and what of its past is not in memory any more: by this it is
 * known of a past state whether the present structures can still answer for it.
 *
 * Memory: 8 bytes a record, 16 for each soft delete and about 40 more while its slot is kept, 16 for each millisecond in
 * which something was written.
 */
import { ChunkedRows } from '../audit/chunkedRows.js';
import { LostSpans } from './lostSpans.js';

/** Parts of a state that a search looks at beside vectors. */
export interface Named {
  readonly filter: boolean;
  readonly text: boolean;
  readonly graph: boolean;
}

/** Numbers, read where they are kept: a piece at a time, so that a list of millions can be taken in slices. */
export interface SavedNumbers {
  readonly length: number;
  readonly pieces: Iterable<Float64Array>;
}

type Numbers = ChunkedRows<Float64Array>;
const rowsOf = (width: number): Numbers => new ChunkedRows((elements) => new Float64Array(elements), width);
const SPANS = ['records', 'metadata', 'graphRoots'] as const;

export class Lifetimes {
  /** Sequence of the insert, by record id − 1: they ascend. */
  #births = rowsOf(1);
  /** Sequence and record id of each soft delete, in order. */
  #tombstones = rowsOf(2);
  /** By record id: sequence of its soft delete, until its slot is freed. */
  readonly #tombstonedAt = new Map<number, number>();
  /** First sequence, and time in unix milliseconds: one for each time that differs from that before. */
  #times = rowsOf(2);
  #lastTimeMs = Number.NEGATIVE_INFINITY;
  /** Sequences after which something was there that is gone: vectors, metadata, roots of the graph. */
  #lost = { records: new LostSpans(), metadata: new LostSpans(), graphRoots: new LostSpans() };
  #textsChangedAt = 0;
  #graphChangedAt = 0;
  /** Whether it was a record's deletion that changed the graph last. */
  #graphChangedByRecord = false;

  /** Of every event, before what it does. */
  happened(sequence: number, timeMs: number): void {
    if (timeMs === this.#lastTimeMs) return;
    this.#times.append(Float64Array.of(sequence, timeMs));
    this.#lastTimeMs = timeMs;
  }

  /** The next record id is given. */
  born(sequence: number): void {
    this.#births.push(sequence);
  }

  tombstoned(recordId: number, sequence: number): void {
    this.#tombstones.append(Float64Array.of(sequence, recordId));
    this.#tombstonedAt.set(recordId, sequence);
  }

  /** Its vector is gone. Not to be called of a record that never had one. */
  freed(recordId: number, sequence: number): void {
    this.#lost.records.add(this.#bornAt(recordId), this.#tombstonedAt.get(recordId) ?? sequence);
    this.#tombstonedAt.delete(recordId);
  }

  metadataReplaced(recordId: number, sequence: number): void {
    this.#lost.metadata.add(this.#bornAt(recordId), sequence);
  }

  /** A text came or went. */
  textsChanged(sequence: number): void {
    this.#textsChangedAt = sequence;
  }

  /** The graph keeps no root that only a write of the graph has seen: see `Graph.rootAt`. */
  graphChanged(sequence: number, byRecord: boolean): void {
    const before = this.#graphChangedAt;
    if (before > 0 && sequence === before + 1 && !this.#graphChangedByRecord)
      this.#lost.graphRoots.add(before, sequence);
    this.#graphChangedAt = sequence;
    this.#graphChangedByRecord = byRecord;
  }

  /** Whether the state after `sequence` events can be searched in what is there now, and its hash be told. */
  holds(sequence: number, { filter, text, graph }: Named): boolean {
    if (this.#lost.records.has(sequence) || !this.tellsHash(sequence)) return false;
    if (filter && this.#lost.metadata.has(sequence)) return false;
    return !(text && sequence < this.#textsChangedAt) && !(graph && sequence < this.#graphChangedAt);
  }

  /** Whether the hash of the state after `sequence` events can be told. */
  tellsHash(sequence: number): boolean {
    return !this.#lost.graphRoots.has(sequence);
  }

  /** Records that had been inserted after `sequence` events: their ids are those up to this one. */
  recordsAt(sequence: number): number {
    return countUpTo(this.#births, 0, sequence);
  }

  /** Soft deletes up to `sequence`. */
  tombstonesAt(sequence: number): number {
    return countUpTo(this.#tombstones, 0, sequence);
  }

  get tombstones(): number {
    return this.#tombstones.length;
  }

  /** Of soft delete `n`, from 0. */
  tombstonedRecord(n: number): number {
    return this.#tombstones.at(n)[1]!;
  }

  /** The time of event `sequence`, which has been applied. */
  timeAt(sequence: number): number {
    return this.#times.at(countUpTo(this.#times, 0, sequence) - 1)[1]!;
  }

  /** Of the last event at or before an instant; −1: there is none, +∞: it is the last that was applied. */
  sequenceAt(timeMs: number): number {
    const upTo = countUpTo(this.#times, 1, timeMs);
    return upTo === this.#times.length ? Number.POSITIVE_INFINITY : this.#times.at(upTo)[0]! - 1;
  }

  /** All it knows, as `restore` takes it. Nothing may happen before the pieces are read. */
  save(): SavedNumbers[] {
    return [
      rowsIn(this.#births, 1),
      rowsIn(this.#tombstones, 2),
      { length: 2 * this.#tombstonedAt.size, pieces: pairsIn(this.#tombstonedAt) },
      rowsIn(this.#times, 2),
      ...SPANS.map((what) => saved(this.#lost[what].numbers())),
      saved(Float64Array.of(this.#textsChangedAt, this.#graphChangedAt, Number(this.#graphChangedByRecord))),
    ];
  }

  /** Of a new one: becomes what another was when it was saved. */
  restore(lists: readonly Float64Array[]): void {
    const [births, tombstones, tombstonedAt, times, records, metadata, graphRoots, changed] = lists;
    this.#births.append(births!);
    this.#tombstones.append(tombstones!);
    for (let i = 0; i < tombstonedAt!.length; i += 2) this.#tombstonedAt.set(tombstonedAt![i]!, tombstonedAt![i + 1]!);
    this.#times.append(times!);
    this.#lastTimeMs = times!.at(-1) ?? Number.NEGATIVE_INFINITY;
    this.#lost = {
      records: LostSpans.of(records!),
      metadata: LostSpans.of(metadata!),
      graphRoots: LostSpans.of(graphRoots!),
    };
    this.#textsChangedAt = changed![0]!;
    this.#graphChangedAt = changed![1]!;
    this.#graphChangedByRecord = changed![2] === 1;
  }

  #bornAt(recordId: number): number {
    return this.#births.at(recordId - 1)[0]!;
  }
}

const saved = (numbers: Float64Array): SavedNumbers => ({ length: numbers.length, pieces: [numbers] });

function rowsIn(rows: Numbers, width: number): SavedNumbers {
  const length = rows.length * width;
  let left = length;
  const pieces = rows.chunks.map((chunk) => {
    const piece = chunk.subarray(0, left);
    left -= piece.length;
    return piece;
  });
  return { length, pieces };
}

function* pairsIn(numbers: ReadonlyMap<number, number>): Generator<Float64Array> {
  for (const pair of numbers) yield Float64Array.from(pair);
}

/** How many rows have `column` no greater than `bound`; the column ascends. */
function countUpTo(rows: Numbers, column: number, bound: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.at(middle)[column]! <= bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
