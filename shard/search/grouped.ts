/**
 * The best hits of each value of a metadata key: of the `k` groups whose best hits come first, the best `size` of each. Always
 * exact. A record with several values is in several groups, one without any in none.
 *
 * It costs two scans, however many groups there are. The first knows the best row of each group, and with `k` groups the
 * distance beyond which no row can be the best of one of them, so that the kernel passes over farther rows. The second, of
 * the rows of the `k` groups alone, fills them, and is left out where `size` is 1. Besides, the values of all records that
 * have the key are collected: some 30 ns each.
 */
import type { Decay, Grouping } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { TopK } from '../kernel/topK.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { type Collector, EVEN, type WeightedBounds, type Weights } from '../kernel/weightedScan.js';
import type { SlotValues } from '../metadata/slotValues.js';
import type { InsertionTimes } from '../state/decayTimes.js';
import { aged, DecayWeights } from './decay.js';
import type { Found } from './found.js';

/** The parts of a collection that are grouped. */
export interface Grouped {
  readonly vectors: Pick<VectorBlocks, 'idOf' | 'gather'>;
  readonly insertions: InsertionTimes;
  /** The values of the key, and the rows that have one and may be found. */
  readonly values: SlotValues;
  readonly rows: SlotSet;
}

export interface GroupedQuery {
  readonly query: Int32Array;
  readonly k: number;
  readonly size: Grouping['size'];
  readonly decay: Decay | undefined;
  /** The largest score; undefined: any. */
  readonly scoreMost: number | undefined;
}

/** `ordinals`: for each hit, that of its value. */
export type GroupedFound = Found & { readonly ordinals: Uint32Array };

/** The most values that one step of a scan looks at, in some milliseconds. A record may have tens of thousands. */
const VALUES_PER_STEP = 8_192;
/** Rows that groups get between two looks at the groups that decide how far a row may be. */
const LOOK_EVERY = 64;

interface Ranked {
  readonly slot: number;
  readonly weighted: number;
  readonly score: number;
}

export async function groupedSearch(
  { vectors, insertions, values, rows }: Grouped,
  { query, k, size, decay, scoreMost }: GroupedQuery,
  slice: Slice,
): Promise<GroupedFound> {
  const weights: Weights = decay === undefined ? EVEN : new DecayWeights(insertions, decay);
  const bounds: WeightedBounds = {
    weightedMost: Number.POSITIVE_INFINITY,
    scoreLeast: 0,
    ...(scoreMost === undefined ? {} : { scoreMost }),
  };
  const firsts = new FirstOfGroups(k, values, vectors.idOf);
  await vectors.gather(query, firsts, weights, () => firsts.rest(slice), { held: rows }, bounds);
  await firsts.settle(slice);
  const groups = firsts.sorted();
  if (size === 1)
    return foundOf(
      groups.map(({ ordinal, first }) => ({ ordinal, hit: first })),
      vectors,
      insertions,
      decay,
    );
  const members = new MembersOfGroups(
    groups.map(({ ordinal }) => ordinal),
    size,
    values,
    vectors.idOf,
  );
  const theirs = await rowsOf(members, values, rows, slice);
  await vectors.gather(query, members, weights, () => members.rest(slice), { held: theirs }, bounds);
  await members.settle(slice);
  return foundOf(members.sorted(), vectors, insertions, decay);
}

/** The rows that are in one of the groups. */
async function rowsOf(groups: MembersOfGroups, values: SlotValues, rows: SlotSet, slice: Slice): Promise<SlotSet> {
  const theirs = rows.emptied();
  for (const slot of rows) {
    values.forEach(slot, (ordinal) => {
      if (groups.has(ordinal)) theirs.add(slot);
    });
    if (slice.step(values.countAt(slot))) await slice.next();
  }
  return theirs;
}

/** Offers each row to the groups of its values. If a step of the scan has had very many values, its other rows wait for its end. */
abstract class GroupCollector implements Collector {
  abstract readonly worst: number;
  #left = VALUES_PER_STEP;
  #waiting: Ranked[] = [];

  constructor(protected readonly values: SlotValues) {}

  protected abstract meet(ordinal: number, row: Ranked): void;

  offer(slot: number, weighted: number, score: number): void {
    if (weighted > this.worst) return;
    const row = { slot, weighted, score };
    this.#left -= this.values.countAt(slot);
    if (this.#left < 0) this.#waiting.push(row);
    else this.#meetAll(row);
  }

  /** Yields between two steps of a scan, then offers the rows that wait. */
  async rest(slice: Slice): Promise<void> {
    await slice.next();
    await this.settle(slice);
  }

  /** Offers the rows that wait. */
  async settle(slice: Slice): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const row of waiting) {
      if (row.weighted > this.worst) continue;
      this.#meetAll(row);
      if (slice.step(this.values.countAt(row.slot))) await slice.next();
    }
    this.#left = VALUES_PER_STEP;
  }

  #meetAll(row: Ranked): void {
    this.values.forEach(row.slot, (ordinal) => this.meet(ordinal, row));
  }
}

/** The best `k` groups so far, each with its best row: a binary heap with the worst group on top. */
class FirstOfGroups extends GroupCollector {
  readonly #ordinals: number[] = [];
  readonly #firsts: Ranked[] = [];
  /** The place of each ordinal in the heap, plus 1; 0 for a group that is not in it. */
  readonly #places: Uint32Array;

  constructor(
    private readonly k: number,
    values: SlotValues,
    private readonly idOf: (slot: number) => number,
  ) {
    super(values);
    this.#places = new Uint32Array(values.count);
  }

  get worst(): number {
    return this.#firsts.length < this.k ? Number.POSITIVE_INFINITY : this.#firsts[0]!.weighted;
  }

  /** The groups in order. */
  sorted(): { readonly ordinal: number; readonly first: Ranked }[] {
    return this.#firsts
      .map((first, at) => ({ ordinal: this.#ordinals[at]!, first }))
      .sort((a, b) => (this.#precedes(a.ordinal, a.first, b.ordinal, b.first) ? -1 : 1));
  }

  protected meet(ordinal: number, row: Ranked): void {
    const held = this.#places[ordinal]!;
    if (held > 0) {
      if (compareHits(row, this.#firsts[held - 1]!, this.idOf) < 0) this.#sink(held - 1, ordinal, row);
    } else if (this.#firsts.length < this.k) this.#rise(ordinal, row);
    else if (this.#precedes(ordinal, row, this.#ordinals[0]!, this.#firsts[0]!)) {
      // If the forgotten group returns, then by a row that is better than all its earlier ones.
      this.#places[this.#ordinals[0]!] = 0;
      this.#sink(0, ordinal, row);
    }
  }

  #precedes(ordinal: number, first: Ranked, other: number, otherFirst: Ranked): boolean {
    const order = compareHits(first, otherFirst, this.idOf);
    return order === 0 ? this.values.isBefore(ordinal, other) : order < 0;
  }

  #put(at: number, ordinal: number, first: Ranked): void {
    this.#ordinals[at] = ordinal;
    this.#firsts[at] = first;
    this.#places[ordinal] = at + 1;
  }

  #rise(ordinal: number, first: Ranked): void {
    let at = this.#firsts.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#precedes(ordinal, first, this.#ordinals[parent]!, this.#firsts[parent]!)) break;
      this.#put(at, this.#ordinals[parent]!, this.#firsts[parent]!);
      at = parent;
    }
    this.#put(at, ordinal, first);
  }

  /** Puts a group in the place of a worse one, or of itself before it improved, and restores the heap. */
  #sink(from: number, ordinal: number, first: Ranked): void {
    let at = from;
    const [ordinals, firsts] = [this.#ordinals, this.#firsts];
    for (let child = 2 * at + 1; child < firsts.length; child = 2 * at + 1) {
      const right = child + 1;
      if (right < firsts.length && this.#precedes(ordinals[child]!, firsts[child]!, ordinals[right]!, firsts[right]!))
        child = right;
      if (!this.#precedes(ordinal, first, ordinals[child]!, firsts[child]!)) break;
      this.#put(at, ordinals[child]!, firsts[child]!);
      at = child;
    }
    this.#put(at, ordinal, first);
  }
}

/** Knows the best `size` rows of each of some groups. */
class MembersOfGroups extends GroupCollector {
  worst = Number.POSITIVE_INFINITY;
  /** In the order of the groups. */
  readonly #members: readonly TopK[];
  /** The place of each ordinal's group, plus 1; 0 for a group that is left out. */
  readonly #places: Uint32Array;
  #met = 0;

  constructor(
    private readonly ordinals: readonly number[],
    size: number,
    values: SlotValues,
    idOf: (slot: number) => number,
  ) {
    super(values);
    const isBefore = (slot: number, other: number): boolean => idOf(slot) < idOf(other);
    this.#members = ordinals.map(() => new TopK(size, isBefore));
    this.#places = new Uint32Array(values.count);
    for (const [place, ordinal] of ordinals.entries()) this.#places[ordinal] = place + 1;
  }

  has(ordinal: number): boolean {
    return this.#places[ordinal]! > 0;
  }

  /** Group after group, each in order. */
  sorted(): { readonly ordinal: number; readonly hit: Ranked }[] {
    return this.#members.flatMap((members, place) => {
      const { items, keys, ties } = members.sorted();
      const ordinal = this.ordinals[place]!;
      return Array.from(items, (slot, i) => ({ ordinal, hit: { slot, weighted: keys[i]!, score: ties[i]! } }));
    });
  }

  protected meet(ordinal: number, { slot, weighted, score }: Ranked): void {
    if (!this.has(ordinal)) return;
    this.#members[this.#places[ordinal]! - 1]!.offer(slot, weighted, score);
    this.#met += 1;
    if (this.#met % Math.max(LOOK_EVERY, this.#members.length) === 0) this.#look();
  }

  /** A row that is farther than the last of every group is in none. */
  #look(): void {
    let worst = 0;
    for (const members of this.#members) worst = Math.max(worst, members.worst);
    this.worst = worst;
  }
}

const compareHits = (a: Ranked, b: Ranked, idOf: (slot: number) => number): number =>
  a.weighted - b.weighted || a.score - b.score || idOf(a.slot) - idOf(b.slot);

function foundOf(
  hits: readonly { readonly ordinal: number; readonly hit: Ranked }[],
  { idOf }: Pick<VectorBlocks, 'idOf'>,
  insertions: InsertionTimes,
  decay: Decay | undefined,
): GroupedFound {
  const found = {
    slots: Uint32Array.from(hits, ({ hit }) => hit.slot),
    ids: Float64Array.from(hits, ({ hit }) => idOf(hit.slot)),
    scores: Float64Array.from(hits, ({ hit }) => hit.score),
  };
  const ordinals = Uint32Array.from(hits, ({ ordinal }) => ordinal);
  return { ...(decay === undefined ? found : aged(found, insertions, decay)), ordinals };
}
