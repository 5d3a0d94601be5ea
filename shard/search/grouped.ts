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
import { nextTurn, type Slice } from '../../shared/scheduling/slice.js';
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

/** Improvements of groups between two cuts, at least. */
const CUT_EVERY = 1_024;
/** Rows offered between two looks at the groups that decide how far a row may be. */
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
  await vectors.gather(query, firsts, weights, nextTurn, { held: rows }, bounds);
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
  await vectors.gather(query, members, weights, nextTurn, { held: theirs }, bounds);
  return foundOf(members.sorted(), vectors, insertions, decay);
}

/** The rows that are in one of the groups. */
async function rowsOf(groups: MembersOfGroups, values: SlotValues, rows: SlotSet, slice: Slice): Promise<SlotSet> {
  const theirs = rows.emptied();
  for (const slot of rows) {
    values.forEach(slot, (ordinal) => {
      if (groups.has(ordinal)) theirs.add(slot);
    });
    if (slice.step()) await slice.next();
  }
  return theirs;
}

/** Knows the best row of each group that may be among the best `k`. */
class FirstOfGroups implements Collector {
  worst = Number.POSITIVE_INFINITY;
  /** By ordinal. */
  readonly #firsts = new Map<number, Ranked>();
  #improvements = 0;

  constructor(
    private readonly k: number,
    private readonly values: SlotValues,
    private readonly idOf: (slot: number) => number,
  ) {}

  offer(slot: number, weighted: number, score: number): void {
    if (weighted > this.worst) return;
    const hit = { slot, weighted, score };
    this.values.forEach(slot, (ordinal) => {
      const first = this.#firsts.get(ordinal);
      if (first !== undefined && compareHits(hit, first, this.idOf) >= 0) return;
      this.#firsts.set(ordinal, hit);
      this.#improvements += 1;
    });
    // Sorting costs as much as so many improvements.
    if (this.#improvements >= Math.max(CUT_EVERY, this.k, this.#firsts.size)) this.#cut();
  }

  /** The best `k` groups, in order. */
  sorted(): { readonly ordinal: number; readonly first: Ranked }[] {
    return [...this.#firsts]
      .map(([ordinal, first]) => ({ ordinal, first }))
      .sort((a, b) => compareHits(a.first, b.first, this.idOf) || (this.values.isBefore(a.ordinal, b.ordinal) ? -1 : 1))
      .slice(0, this.k);
  }

  /** Forgets the groups that are not among the best `k`: a row that brings one back is offered again. */
  #cut(): void {
    this.#improvements = 0;
    if (this.#firsts.size < this.k) return;
    const best = this.sorted();
    this.worst = best.at(-1)!.first.weighted;
    this.#firsts.clear();
    for (const { ordinal, first } of best) this.#firsts.set(ordinal, first);
  }
}

/** Knows the best `size` rows of each of some groups. */
class MembersOfGroups implements Collector {
  worst = Number.POSITIVE_INFINITY;
  /** By ordinal, in the order of the groups. */
  readonly #members: Map<number, TopK>;
  #offered = 0;

  constructor(
    ordinals: readonly number[],
    size: number,
    private readonly values: SlotValues,
    idOf: (slot: number) => number,
  ) {
    const isBefore = (slot: number, other: number): boolean => idOf(slot) < idOf(other);
    this.#members = new Map(ordinals.map((ordinal) => [ordinal, new TopK(size, isBefore)]));
  }

  has(ordinal: number): boolean {
    return this.#members.has(ordinal);
  }

  offer(slot: number, weighted: number, score: number): void {
    this.values.forEach(slot, (ordinal) => this.#members.get(ordinal)?.offer(slot, weighted, score));
    this.#offered += 1;
    if (this.#offered % Math.max(LOOK_EVERY, this.#members.size) === 0) this.#look();
  }

  /** Group after group, each in order. */
  sorted(): { readonly ordinal: number; readonly hit: Ranked }[] {
    return [...this.#members].flatMap(([ordinal, members]) => {
      const { items, keys, ties } = members.sorted();
      return Array.from(items, (slot, i) => ({ ordinal, hit: { slot, weighted: keys[i]!, score: ties[i]! } }));
    });
  }

  /** A row that is farther than the last of every group is in none. */
  #look(): void {
    let worst = 0;
    for (const members of this.#members.values()) worst = Math.max(worst, members.worst);
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
