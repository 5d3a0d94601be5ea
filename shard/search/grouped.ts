/**
 * Finds the best hits for each value of a metadata key. A group is the hits of one value. The result is the `k` groups with the
 * best first hits, and of each the best `size` hits. Always exact. A record with several values is in several groups, and one without a value in none.
 *
 * The number of groups does not matter: there are two scans. The first finds the best row of each group. With `k` groups, it
 * knows the distance beyond which no row can be the first of a group, and the kernel skips farther rows. The second scan fills
 * the `k` groups from their rows; it is omitted if `size` is 1. Before, the values of all records with the key are collected, at
 * some 30 ns each.
 */
import type { Decay, Grouping } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { TopK, type TopKRoom, topKRoom } from '../kernel/topK.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { type Collector, EVEN, type WeightedBounds, type Weights } from '../kernel/weightedScan.js';
import type { SlotValues } from '../metadata/slotValues.js';
import type { NamedValues } from '../records/facets.js';
import type { InsertionTimes } from '../state/decayTimes.js';
import { aged, DecayWeights } from './decay.js';
import { type Found, floats } from './found.js';

/** Parts of a collection that the search reads. */
export interface Grouped {
  readonly vectors: Pick<VectorBlocks, 'idOf' | 'gather'>;
  readonly insertions: InsertionTimes;
  /** Values of the key, by slot. */
  readonly values: SlotValues;
  /** Eligible rows that have a value. */
  readonly rows: SlotSet;
}

export interface GroupedQuery {
  readonly query: Int32Array;
  readonly k: number;
  readonly size: Grouping['size'];
  readonly decay: Decay | undefined;
  /** Largest score; undefined for any. */
  readonly scoreMost: number | undefined;
}

/** The hits of all groups. `of`: the place of each hit's group in `groups`. */
export interface GroupedFound {
  readonly found: Found;
  readonly groups: NamedValues;
  readonly of: Int32Array;
}

/** Largest number of values that a step of a scan looks at, in about a millisecond. A record may have tens of thousands. */
const VALUES_PER_STEP = 4_096;
/** Largest number of values of a row that are looked at in one slice. */
const UNDIVIDED_MAX = 512;
/** Rows offered to groups between two updates of the farthest distance. */
const LOOK_EVERY = 64;

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
  await vectors.gather(query, firsts, { weights, bounds, only: rows }, () => firsts.rest(slice));
  await firsts.settle(slice);
  const groups = await firsts.sorted(slice);
  const answer = ({ slots, scores, of }: GroupHits): GroupedFound => {
    const hits = { slots, ids: floats(slots.length, (i) => vectors.idOf(slots[i]!)), scores };
    return { found: decay === undefined ? hits : aged(hits, insertions, decay), groups, of };
  };
  if (size === 1) return answer({ ...groups, of: Int32Array.from(groups.slots.keys()) });
  const members = new MembersOfGroups(groups.ordinals, size, values, vectors.idOf);
  const theirs = await rowsOf(members, values, rows, slice);
  await vectors.gather(query, members, { weights, bounds, only: theirs }, () => members.rest(slice));
  await members.settle(slice);
  return answer(await members.sorted(slice));
}

/** Hits of groups, group after group, each in order. */
interface GroupHits {
  readonly slots: Uint32Array;
  readonly scores: Float64Array;
  readonly of: Int32Array;
}

/** Returns the rows that are in one of the groups. */
async function rowsOf(groups: MembersOfGroups, values: SlotValues, rows: SlotSet, slice: Slice): Promise<SlotSet> {
  const theirs = rows.emptied();
  let isTheirs = false;
  const visit = (ordinal: number): void => {
    isTheirs ||= groups.has(ordinal);
  };
  for (const slot of rows) {
    isTheirs = false;
    values.forEach(slot, visit);
    if (isTheirs) theirs.add(slot);
    if (slice.step(values.countAt(slot))) await slice.next();
  }
  return theirs;
}

/**
 * Offers each row to the groups of its values. Once a step of the scan has looked at very many values, its other rows wait for
 * the end of the step. Waiting rows are numbers in columns: thousands of objects would burden the garbage collector.
 */
abstract class GroupCollector implements Collector {
  /** Decayed distance beyond which no row is wanted. */
  abstract readonly worst: number;
  /** Number of values that this step may still look at. */
  #left = VALUES_PER_STEP;
  /** Rows that wait, in three columns. */
  #slots: number[] = [];
  #weighted: number[] = [];
  #scores: number[] = [];
  /** Row that is being offered to its groups, with its decayed distance and its score. */
  protected slot = 0;
  protected weighted = 0;
  protected score = 0;
  readonly #meet = (ordinal: number): void => this.meet(ordinal);

  constructor(protected readonly values: SlotValues) {}

  /** Offers the row to one of its groups. */
  protected abstract meet(ordinal: number): void;

  offer(slot: number, weighted: number, score: number): void {
    if (weighted > this.worst) return;
    this.#left -= this.values.countAt(slot);
    if (this.#left < 0) {
      this.#slots.push(slot);
      this.#weighted.push(weighted);
      this.#scores.push(score);
      return;
    }
    this.#take(slot, weighted, score);
    this.values.forEach(slot, this.#meet);
  }

  /** Yields between two steps of a scan, then offers the rows that wait. */
  async rest(slice: Slice): Promise<void> {
    await slice.next();
    await this.settle(slice);
  }

  /** Offers the rows that wait. */
  async settle(slice: Slice): Promise<void> {
    const [slots, weighted, scores] = [this.#slots, this.#weighted, this.#scores];
    [this.#slots, this.#weighted, this.#scores] = [[], [], []];
    for (let i = 0; i < slots.length; i++) {
      if (weighted[i]! > this.worst) continue;
      const slot = slots[i]!;
      this.#take(slot, weighted[i]!, scores[i]!);
      const count = this.values.countAt(slot);
      if (count <= UNDIVIDED_MAX) {
        this.values.forEach(slot, this.#meet);
        if (slice.step(count)) await slice.next();
      } else
        for (const ordinal of this.values.ordinalsAt(slot)) {
          this.meet(ordinal);
          if (slice.step()) await slice.next();
        }
    }
    this.#left = VALUES_PER_STEP;
  }

  #take(slot: number, weighted: number, score: number): void {
    this.slot = slot;
    this.weighted = weighted;
    this.score = score;
  }
}

/** The best `k` groups so far, each with its best row: a binary heap with the worst group on top. */
class FirstOfGroups extends GroupCollector {
  #count = 0;
  readonly #ordinals: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #weighted: Float64Array;
  readonly #scores: Float64Array;
  /** For each value its place in the heap, plus 1; 0 if its group is not in the heap. */
  readonly #places: Uint32Array;

  constructor(
    private readonly k: number,
    values: SlotValues,
    private readonly idOf: (slot: number) => number,
  ) {
    super(values);
    const room = Math.min(k, values.count);
    this.#ordinals = new Uint32Array(room);
    this.#slots = new Uint32Array(room);
    this.#weighted = new Float64Array(room);
    this.#scores = new Float64Array(room);
    this.#places = new Uint32Array(values.count);
  }

  get worst(): number {
    return this.#count < this.k ? Number.POSITIVE_INFINITY : this.#weighted[0]!;
  }

  /** Returns the groups in order, each with its best row. Offer no row afterwards. */
  async sorted(slice: Slice): Promise<NamedValues & { readonly scores: Float64Array }> {
    const count = this.#count;
    while (this.#count > 1) {
      const last = --this.#count;
      const ordinal = this.#ordinals[last]!;
      this.#take(last);
      this.#copy(last, 0);
      this.#sink(0, ordinal);
      if (slice.step()) await slice.next();
    }
    const [ordinals, slots, scores] = [this.#ordinals, this.#slots, this.#scores];
    return {
      ordinals: ordinals.subarray(0, count),
      slots: slots.subarray(0, count),
      scores: scores.subarray(0, count),
    };
  }

  protected meet(ordinal: number): void {
    const place = this.#places[ordinal]!;
    if (place > 0) {
      if (this.#compare(place - 1) < 0) this.#sink(place - 1, ordinal);
    } else if (this.#count < this.k) this.#rise(ordinal);
    else if (this.#precedes(ordinal, 0)) {
      // The dropped group can return only with a row that is better than all its earlier ones.
      this.#places[this.#ordinals[0]!] = 0;
      this.#sink(0, ordinal);
    }
  }

  /** Whether a group with the offered row as its best precedes the group at a place. */
  #precedes(ordinal: number, at: number): boolean {
    const order = this.#compare(at);
    return order === 0 ? this.values.isBefore(ordinal, this.#ordinals[at]!) : order < 0;
  }

  /** Compares the offered row with the best row of the group at a place. Negative if it comes first. */
  #compare(at: number): number {
    return (
      this.weighted - this.#weighted[at]! ||
      this.score - this.#scores[at]! ||
      this.idOf(this.slot) - this.idOf(this.#slots[at]!)
    );
  }

  /** Whether the group at one place precedes the one at another. */
  #isBefore(one: number, other: number): boolean {
    const order =
      this.#weighted[one]! - this.#weighted[other]! ||
      this.#scores[one]! - this.#scores[other]! ||
      this.idOf(this.#slots[one]!) - this.idOf(this.#slots[other]!);
    return order === 0 ? this.values.isBefore(this.#ordinals[one]!, this.#ordinals[other]!) : order < 0;
  }

  /** Stores a group at a place, with the offered row as its best. */
  #put(at: number, ordinal: number): void {
    this.#ordinals[at] = ordinal;
    this.#slots[at] = this.slot;
    this.#weighted[at] = this.weighted;
    this.#scores[at] = this.score;
    this.#places[ordinal] = at + 1;
  }

  #copy(to: number, from: number): void {
    this.#ordinals[to] = this.#ordinals[from]!;
    this.#slots[to] = this.#slots[from]!;
    this.#weighted[to] = this.#weighted[from]!;
    this.#scores[to] = this.#scores[from]!;
    this.#places[this.#ordinals[to]!] = to + 1;
  }

  #take(at: number): void {
    this.slot = this.#slots[at]!;
    this.weighted = this.#weighted[at]!;
    this.score = this.#scores[at]!;
  }

  #rise(ordinal: number): void {
    let at = this.#count++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#precedes(ordinal, parent)) break;
      this.#copy(at, parent);
      at = parent;
    }
    this.#put(at, ordinal);
  }

  /** Puts a group in place of a worse one, or of itself with a worse row, and restores the order of the heap. */
  #sink(from: number, ordinal: number): void {
    let at = from;
    for (let child = 2 * at + 1; child < this.#count; child = 2 * at + 1) {
      const right = child + 1;
      if (right < this.#count && this.#isBefore(child, right)) child = right;
      if (!this.#precedes(ordinal, child)) break;
      this.#copy(at, child);
      at = child;
    }
    this.#put(at, ordinal);
  }
}

/** Keeps the best `size` rows of each of some groups. */
class MembersOfGroups extends GroupCollector {
  worst = Number.POSITIVE_INFINITY;
  /** Members in the order of the groups. */
  readonly #members: readonly TopK[];
  readonly #room: TopKRoom;
  /** For each value the place of its group, plus 1; 0 for a group that is left out. */
  readonly #places: Uint32Array;
  /** Number of rows offered to groups. */
  #met = 0;

  constructor(
    ordinals: Uint32Array,
    private readonly size: number,
    values: SlotValues,
    idOf: (slot: number) => number,
  ) {
    super(values);
    const isBefore = (slot: number, other: number): boolean => idOf(slot) < idOf(other);
    const room = topKRoom(ordinals.length * size);
    this.#room = room;
    this.#members = Array.from(ordinals, (_, place) => new TopK(size, isBefore, room, place * size));
    this.#places = new Uint32Array(values.count);
    for (const [place, ordinal] of ordinals.entries()) this.#places[ordinal] = place + 1;
  }

  has(ordinal: number): boolean {
    return this.#places[ordinal]! > 0;
  }

  /** Returns the hits of all groups, in order. Offer no row afterwards. */
  async sorted(slice: Slice): Promise<GroupHits> {
    const count = this.#members.reduce((sum, members) => sum + members.count, 0);
    const hits = { slots: new Uint32Array(count), scores: new Float64Array(count), of: new Int32Array(count) };
    const { items, ties } = this.#room;
    let hit = 0;
    for (const [place, members] of this.#members.entries()) {
      members.sort();
      for (let i = 0; i < members.count; i++) {
        hits.slots[hit] = items[place * this.size + i]!;
        hits.scores[hit] = ties[place * this.size + i]!;
        hits.of[hit++] = place;
      }
      if (slice.step(members.count)) await slice.next();
    }
    return hits;
  }

  protected meet(ordinal: number): void {
    if (!this.has(ordinal)) return;
    this.#members[this.#places[ordinal]! - 1]!.offer(this.slot, this.weighted, this.score);
    this.#met += 1;
    if (this.#met % Math.max(LOOK_EVERY, this.#members.length) === 0) this.#look();
  }

  /** Updates `worst`: a row farther than the last one of every group is in none. */
  #look(): void {
    let worst = 0;
    for (const members of this.#members) worst = Math.max(worst, members.worst);
    this.worst = worst;
  }
}
