/**
 * An HNSW index of several segments, since no graph has room for all of its rows. The last segment absorbs new rows. A search
 * asks each segment for its nearest rows: on threads side by side, in the event loop in turns.
 *
 * ```text
 * ordinals:  0 … full │ … full │ … last, absorbs
 * segments:     0          1         2
 * ```
 */
import { type Hits, hitsOfLength } from '../../kernel/scanScratch.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { Index } from '../kind.js';
import { mergeSortedHits } from '../mergeSortedHits.js';
import { NO_SLOT } from '../rows.js';
import { writePayload } from '../store/payloadFile.js';
import type { GraphSearch } from './graphSearch.js';
import type { Segment } from './segment.js';
import type { SegmentRows } from './segmentRows.js';

export interface OpenSegment {
  readonly segment: Segment;
  readonly rows: SegmentRows;
}

/** A segment with rows that a search may find. */
interface AskedSegment extends OpenSegment {
  /** How many. */
  readonly count: number;
}

export class Segments implements Index {
  readonly #segments: readonly OpenSegment[];
  readonly #last: OpenSegment;

  /** `segments`: those of ascending ordinals, two at least. */
  constructor(segments: readonly OpenSegment[]) {
    this.#segments = segments;
    this.#last = segments.at(-1)!;
  }

  get segments(): number {
    return this.#segments.length;
  }

  get bytes(): number {
    return this.#sum(({ segment }) => segment.bytes);
  }

  get capacityLeft(): number {
    return this.#last.segment.capacityLeft;
  }

  get absorbs(): boolean {
    return this.#last.segment.absorbs;
  }

  cost(k: number): number {
    return this.#sum(({ segment }) => segment.cost(k));
  }

  absorb(ordinal: number, slot: number): boolean {
    const { segment, rows } = this.#last;
    const isFound = segment.absorb(ordinal - rows.first, slot);
    rows.add(isFound ? slot : NO_SLOT);
    return isFound;
  }

  remove(ordinal: number, slot: number): void {
    const { segment, rows } = this.#segments.findLast((one) => one.rows.first <= ordinal)!;
    rows.covered.delete(slot);
    segment.remove(ordinal - rows.first);
  }

  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const proposed: Uint32Array[] = [];
    for (const asked of this.#asked(eligible)) {
      const slots = await asked.segment.candidates(query, k, eligible);
      if (isShort(slots.length, k, asked)) return new Uint32Array(0);
      proposed.push(slots);
    }
    return joined(proposed);
  }

  search(query: Int32Array, k: number, eligible: SlotSet | undefined): Hits | Promise<Hits> | undefined {
    const asked = this.#asked(eligible);
    const planned: GraphSearch[] = [];
    for (const { segment } of asked) {
      const plan = segment.plan(query, k, eligible);
      if (plan === undefined) return undefined;
      planned.push(plan);
    }
    if (asked.length === 0) return undefined;
    return this.#merged(
      asked,
      planned.map(async (plan, at) => asked[at]!.segment.run(plan, eligible)),
      k,
    );
  }

  persist(path: string): Promise<void> {
    return writePayload({ path }, async (file) => {
      let offset = 0;
      for (const { segment, rows } of this.#segments) offset = await segment.write(file, offset, rows.count);
    });
  }

  async free(): Promise<void> {
    await Promise.all(this.#segments.map(({ segment }) => segment.free()));
  }

  async #merged(asked: readonly AskedSegment[], found: readonly Promise<Hits>[], k: number): Promise<Hits> {
    // Wait for all, since the index may not change while one reads it.
    await Promise.allSettled(found);
    const hits = await Promise.all(found);
    if (hits.some(({ ids }, at) => isShort(ids.length, k, asked[at]!))) return hitsOfLength(0);
    return hits.reduce((one, other) => mergeSortedHits(one, other, k));
  }

  #asked(eligible: SlotSet | undefined): AskedSegment[] {
    return this.#segments
      .map((one) => ({ ...one, count: eligible?.countShared(one.rows.covered) ?? one.rows.covered.count }))
      .filter(({ count }) => count > 0);
  }

  #sum(of: (one: OpenSegment) => number): number {
    return this.#segments.reduce((sum, one) => sum + of(one), 0);
  }
}

/**
 * Whether a segment found too few rows, so that it may have missed some. Then the index finds none, and the search is exact: the
 * other segments may have enough rows, but not the nearest.
 */
const isShort = (found: number, k: number, { count }: AskedSegment): boolean => found < Math.min(k, count);

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
