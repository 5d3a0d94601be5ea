/**
 * The births and deaths of a collection's records, and the parts of its past that are no longer in memory. They decide
 * whether the present structures can answer for a past state.
 *
 * Memory: 1 to 4 bytes a record; 16 bytes per replacement, soft delete, and millisecond with a write. A soft delete
 * takes about 40 more while its slot is kept.
 */
import { ChunkedRows } from '../audit/chunkedRows.js';
import { Column } from '../kernel/column.js';
import { PagedList } from '../kernel/pagedList.js';
import { IntervalSet } from './intervalSet.js';

/** Parts of a state that a search uses besides vectors. */
export interface SearchedParts {
  readonly filter: boolean;
  readonly text: boolean;
  readonly graph: boolean;
}

/** Numbers in pieces, which are read in place: a list of millions can be saved in slices. */
export interface SavedNumbers {
  readonly length: number;
  readonly pieces: Iterable<Float64Array>;
}

type Numbers = ChunkedRows<Float64Array>;
const rowsOf = (width: number): Numbers => new ChunkedRows((elements) => new Float64Array(elements), width);
const SPANS = ['records', 'metadata', 'graphRoots'] as const;

export class VersionVisibility {
  /** Sequence of each insert, by record id − 1, ascending. */
  #births = new Column(0);
  /** Sequence and record id of each soft delete, ascending. */
  #tombstones = rowsOf(2);
  /** Sequence and record id of each replacement, ascending. */
  #replacements = rowsOf(2);
  /** Record id → sequence of its soft delete, until its slot is freed. */
  readonly #tombstonedAt = new PagedList<number>();
  /** First sequence at each event time, and that time in unix milliseconds. */
  #times = rowsOf(2);
  #lastTimeMs = Number.NEGATIVE_INFINITY;
  /** Sequences whose vectors, metadata or graph roots are no longer in memory. */
  #lost = { records: new IntervalSet(), metadata: new IntervalSet(), graphRoots: new IntervalSet() };
  #textsChangedAt = 0;
  #graphChangedAt = 0;
  /** Whether the last change of the graph was the deletion of a record. */
  #graphChangedByRecord = false;

  /** Call it for every event, before its effect. */
  happened(sequence: number, timeMs: number): void {
    if (timeMs === this.#lastTimeMs) return;
    this.#times.append(Float64Array.of(sequence, timeMs));
    this.#lastTimeMs = timeMs;
  }

  /** Call it when the next record id is given. */
  born(sequence: number): void {
    this.#births.push(sequence);
  }

  tombstoned(recordId: number, sequence: number): void {
    this.#tombstones.append(Float64Array.of(sequence, recordId));
    this.#tombstonedAt.set(recordId, sequence);
  }

  /** Call it when the vector of a record is removed. */
  freed(recordId: number, sequence: number): void {
    this.#lost.records.add(this.#bornAt(recordId), this.#tombstonedAt.get(recordId) ?? sequence);
    this.#tombstonedAt.delete(recordId);
  }

  /** Call it when the content of a record is erased with its key, whether or not it was in a slot. */
  lost(recordId: number, sequence: number): void {
    this.#lost.records.add(this.#bornAt(recordId), sequence);
  }

  /** Call it when a record gets another vector. */
  replaced(recordId: number, sequence: number): void {
    this.#lost.records.add(this.#bornAt(recordId), sequence);
    this.#replacements.append(Float64Array.of(sequence, recordId));
  }

  metadataReplaced(recordId: number, sequence: number): void {
    this.#lost.metadata.add(this.#bornAt(recordId), sequence);
  }

  /** Call it when a text is added or removed. */
  textsChanged(sequence: number): void {
    this.#textsChangedAt = sequence;
  }

  /** Call it when the graph changes. The graph does not keep every root; see `Graph.rootAt`. */
  graphChanged(sequence: number, byRecord: boolean): void {
    const before = this.#graphChangedAt;
    if (before > 0 && sequence === before + 1 && !this.#graphChangedByRecord)
      this.#lost.graphRoots.add(before, sequence);
    this.#graphChangedAt = sequence;
    this.#graphChangedByRecord = byRecord;
  }

  /** Whether the present structures can search the state after `sequence` events, and return its hash. */
  holds(sequence: number, { filter, text, graph }: SearchedParts): boolean {
    if (this.#lost.records.has(sequence) || !this.knowsHash(sequence)) return false;
    if (filter && this.#lost.metadata.has(sequence)) return false;
    return !(text && sequence < this.#textsChangedAt) && !(graph && sequence < this.#graphChangedAt);
  }

  /** Whether the hash of the state after `sequence` events is known. */
  knowsHash(sequence: number): boolean {
    return !this.#lost.graphRoots.has(sequence);
  }

  /** Returns the number of records inserted by `sequence`, which is also the highest id. */
  recordsAt(sequence: number): number {
    return this.#births.firstNotBelow(sequence + 1);
  }

  /** Returns the number of soft deletes up to `sequence`. */
  tombstonesAt(sequence: number): number {
    return this.#tombstones.firstNotBelow(0, sequence + 1);
  }

  get tombstones(): number {
    return this.#tombstones.length;
  }

  /** Returns the record id of soft delete `n`, counted from 0. */
  tombstonedRecord(n: number): number {
    return this.#tombstones.at(n)[1]!;
  }

  /** Returns the sequence of the event that inserted the record. */
  bornBy(recordId: number): number {
    return this.#bornAt(recordId);
  }

  /** Whether that event inserted the record. */
  isBornBy(recordId: number, sequence: number): boolean {
    return this.#bornAt(recordId) === sequence;
  }

  /** Returns the number of replacements up to `sequence`. */
  replacementsAt(sequence: number): number {
    return this.#replacements.firstNotBelow(0, sequence + 1);
  }

  get replacements(): number {
    return this.#replacements.length;
  }

  /** Returns the record id of replacement `n`, counted from 0. */
  replacedRecord(n: number): number {
    return this.#replacements.at(n)[1]!;
  }

  /** Returns the time of an applied event. */
  timeAt(sequence: number): number {
    return this.#times.at(this.#times.firstNotBelow(0, sequence + 1) - 1)[1]!;
  }

  /**
   * Returns the sequence of the last event at or before an instant: −1 before the first event, +∞ for the last applied
   * event.
   */
  sequenceAt(timeMs: number): number {
    // Times are whole milliseconds.
    const upTo = this.#times.firstNotBelow(1, Math.floor(timeMs) + 1);
    return upTo === this.#times.length ? Number.POSITIVE_INFINITY : this.#times.at(upTo)[0]! - 1;
  }

  /** Returns all data for `restore`. No event may be applied before the pieces are read. */
  save(): SavedNumbers[] {
    return [
      { length: this.#births.length, pieces: this.#births.pieces() },
      rowsIn(this.#tombstones, 2),
      { length: 2 * this.#tombstonedAt.size, pieces: pairsIn(this.#tombstonedAt.entries()) },
      rowsIn(this.#times, 2),
      rowsIn(this.#replacements, 2),
      ...SPANS.map((what) => saved(this.#lost[what].numbers())),
      saved(Float64Array.of(this.#textsChangedAt, this.#graphChangedAt, Number(this.#graphChangedByRecord))),
    ];
  }

  /** Fills a new object with a result of `save`. */
  restore(lists: readonly Float64Array[]): void {
    const [births, tombstones, tombstonedAt, times, replacements, records, metadata, graphRoots, changed] = lists;
    this.#births = Column.of(0, births!);
    this.#tombstones.append(tombstones!);
    for (let i = 0; i < tombstonedAt!.length; i += 2) this.#tombstonedAt.set(tombstonedAt![i]!, tombstonedAt![i + 1]!);
    this.#times.append(times!);
    this.#replacements.append(replacements!);
    this.#lastTimeMs = times!.at(-1) ?? Number.NEGATIVE_INFINITY;
    this.#lost = {
      records: IntervalSet.of(records!),
      metadata: IntervalSet.of(metadata!),
      graphRoots: IntervalSet.of(graphRoots!),
    };
    this.#textsChangedAt = changed![0]!;
    this.#graphChangedAt = changed![1]!;
    this.#graphChangedByRecord = changed![2] === 1;
  }

  #bornAt(recordId: number): number {
    return this.#births.get(recordId - 1);
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

function* pairsIn(pairs: Iterable<[number, number]>): Generator<Float64Array> {
  for (const pair of pairs) yield Float64Array.from(pair);
}
