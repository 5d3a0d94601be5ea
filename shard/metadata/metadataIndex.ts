/**
 * The metadata of one collection, so indexed that a filter is a few operations on sets of slots.
 *
 * Every value of every record is indexed under its path (`PathIndex`); the elements of an array are indexed under the
 * array's path. In a collection with more than `PATHS_MAX` paths, as where keys are made of ids, filters on paths beyond
 * that look up the stored metadata of the records that have such paths.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { type Filter, PATH_SEPARATOR, type Test } from '../../shared/model/filter.js';
import { atOnce, inSlices, type Slice, type Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { BlockShape } from '../kernel/blockShape.js';
import { SlotSet } from '../kernel/slotSet.js';
import { holdsIn, isNegated, matchesOf } from './matches.js';
import { forEachValue, metadataObject } from './metadataObject.js';
import { PathIndex } from './pathIndex.js';
import { isScalar, SlotValues } from './slotValues.js';

/** A path takes about half a kilobyte by itself. */
const PATHS_MAX = 4_096;
/** Stored metadata that is read in one step: about a tenth of a millisecond. */
const READS_PER_STEP = 32;
/** Records written during a selection that are judged in one go: about half a millisecond. */
const JUDGED_AT_ONCE = 128;

export class MetadataIndex {
  readonly #paths = new Map<string, PathIndex>();
  /** Records whose metadata is a JSON object. */
  readonly #objects = BitSet.ofSize(1);
  /** Records with a value at a path that is not among `#paths`. While there are any, no path is added. */
  readonly #beyond = BitSet.ofSize(1);
  /** An upper bound of all slots that were set. */
  #slots = 0;
  /** For each selection that is running: slots whose metadata was written since it began. */
  readonly #written = new Set<Set<number>>();

  /**
   * `metadataOf`: the stored metadata of a slot; it must be what was last given to `set`, until `set` or `remove` of that
   * slot has returned.
   */
  constructor(
    private readonly shape: BlockShape,
    private readonly metadataOf: (slot: number) => Uint8Array | null,
    private readonly pathsMax = PATHS_MAX,
  ) {}

  /** Estimated heap bytes. */
  get bytes(): number {
    let sum = this.#objects.words.byteLength + this.#beyond.words.byteLength;
    for (const [path, index] of this.#paths) sum += path.length + index.bytes;
    return sum;
  }

  /** Indexes the new metadata of a record; called before `metadataOf` knows of it. */
  set(slot: number, metadata: Uint8Array | null): void {
    this.remove(slot);
    for (const written of this.#written) written.add(slot);
    const object = metadataObject(metadata);
    if (object === undefined) return;
    this.#slots = Math.max(this.#slots, slot + 1);
    this.#objects.add(slot);
    forEachValue(object, (path, value) => {
      const index = this.#paths.get(path) ?? this.#added(path);
      if (index === undefined) this.#beyond.add(slot);
      else index.add(value, slot, this.#slots);
    });
  }

  /** Forgets a record; called before `metadataOf` forgets it. Does nothing where it has no metadata. */
  remove(slot: number): void {
    if (!this.#objects.has(slot)) return;
    for (const written of this.#written) written.add(slot);
    forEachValue(metadataObject(this.metadataOf(slot))!, (path, value) => {
      const index = this.#paths.get(path);
      index?.remove(value, slot);
      if (index?.isEmpty) this.#paths.delete(path);
    });
    this.#objects.delete(slot);
    this.#beyond.delete(slot);
  }

  /**
   * Selects the slots whose metadata is a JSON object and matches. A test costs half a millisecond of a million records, 1
   * to 2 on numbers; the selection gives way between tests. A record that is written meanwhile is judged anew. The set is
   * that of the moment at which the returned function is called: once, and at once.
   */
  async select(filter: Filter, slice: Slice): Promise<() => SlotSet> {
    const written = new Set<number>();
    this.#written.add(written);
    try {
      const matching = await inSlices(this.#matching(filter), slice);
      const matches = matchesOf(filter);
      const judge = (slot: number): void => {
        written.delete(slot);
        if (this.#objects.has(slot) && matches(this.metadataOf(slot))) matching.add(slot);
        else matching.delete(slot);
      };
      while (written.size > JUDGED_AT_ONCE) {
        for (const slot of [...written].slice(0, JUDGED_AT_ONCE)) judge(slot);
        if (slice.due) await slice.next();
      }
      return () => {
        this.#written.delete(written);
        for (const slot of written) judge(slot);
        return SlotSet.of(this.shape, matching);
      };
    } catch (error) {
      this.#written.delete(written);
      throw error;
    }
  }

  /** As `select`, without giving way. */
  selectAtOnce(filter: Filter): SlotSet {
    return SlotSet.of(this.shape, atOnce(this.#matching(filter)));
  }

  /**
   * Collects the values that records have at a path, as they are at the moment at which the returned function is called:
   * once, and at once. Costs some 30 ns a record that has the path, in steps; the values of a record whose path is not
   * indexed, or that is written meanwhile, are read from its metadata. `held`: rows that are looked at by their metadata if
   * they do not live any more.
   */
  async values(path: string, slice: Slice, held?: SlotSet): Promise<() => SlotValues> {
    const written = new Set<number>();
    this.#written.add(written);
    try {
      const values = new SlotValues();
      const judge = (slot: number): void => {
        written.delete(slot);
        values.clear(slot);
        if (this.#objects.has(slot) || held?.has(slot)) this.#judge(slot, path, values);
      };
      await inSlices(this.#collect(path, values, held), slice);
      while (written.size > JUDGED_AT_ONCE) {
        for (const slot of [...written].slice(0, JUDGED_AT_ONCE)) judge(slot);
        if (slice.due) await slice.next();
      }
      return () => {
        this.#written.delete(written);
        for (const slot of written) judge(slot);
        return values;
      };
    } catch (error) {
      this.#written.delete(written);
      throw error;
    }
  }

  /** The long string with this ordinal in the metadata of the slot; undefined if it was written since. */
  longValue(slot: number, path: string, values: SlotValues, ordinal: number): string | undefined {
    let found: string | undefined;
    const object = metadataObject(this.metadataOf(slot));
    if (object !== undefined)
      forEachValue(object, (at, value) => {
        if (at === path && values.isLong(ordinal, value)) found = value;
      });
    return found;
  }

  *#collect(path: string, values: SlotValues, held: SlotSet | undefined): Steps<void> {
    const index = this.#paths.get(path);
    if (index !== undefined) yield* index.collect(values);
    let reads = 0;
    const unindexed = function* (this: MetadataIndex): Generator<number> {
      if (index === undefined) yield* this.#beyond;
      if (held !== undefined) for (const slot of held) if (!this.#objects.has(slot)) yield slot;
    };
    for (const slot of unindexed.call(this)) {
      this.#judge(slot, path, values);
      if (++reads % READS_PER_STEP === 0) yield;
    }
  }

  /** Adds the values in the metadata of one record. */
  #judge(slot: number, path: string, values: SlotValues): void {
    const object = metadataObject(this.metadataOf(slot));
    if (object === undefined) return;
    forEachValue(object, (at, value) => {
      if (at === path && isScalar(value)) values.add(slot, values.ordinalOf(value));
    });
  }

  #added(path: string): PathIndex | undefined {
    if (this.#paths.size >= this.pathsMax || !this.#beyond.isEmpty) return undefined;
    const index = new PathIndex();
    this.#paths.set(path, index);
    return index;
  }

  /** A new subset of `#objects`. */
  *#matching(filter: Filter): Steps<BitSet> {
    switch (filter.op) {
      case 'and': {
        const matching = this.#objects.clone();
        for (const part of filter.of) {
          if (matching.isEmpty) break;
          matching.intersect(yield* this.#matching(part));
        }
        return matching;
      }
      case 'or': {
        const matching = BitSet.ofSize(this.#slots);
        for (const part of filter.of) matching.unite(yield* this.#matching(part));
        return matching;
      }
      case 'not':
        return this.#allBut(yield* this.#matching(filter.of));
      case 'test': {
        const matching = yield* this.#holding(filter.path.join(PATH_SEPARATOR), filter.test);
        yield;
        return isNegated(filter.test) ? this.#allBut(matching) : matching;
      }
      default:
        return unreachable(filter);
    }
  }

  /** The slots of the records that `holdsIn` is true of. */
  *#holding(path: string, test: Test): Steps<BitSet> {
    const matching = BitSet.ofSize(this.#slots);
    const doubtful = BitSet.ofSize(this.#slots);
    const index = this.#paths.get(path);
    if (index !== undefined) index.select(test, matching, doubtful);
    else doubtful.unite(this.#beyond);
    doubtful.subtract(matching);
    if (doubtful.isEmpty) return matching;
    const holds = holdsIn(path, test);
    let reads = 0;
    for (const slot of doubtful) {
      // The metadata may have been removed since the slot was found doubtful.
      const object = metadataObject(this.metadataOf(slot));
      if (object !== undefined && holds(object)) matching.add(slot);
      if (++reads % READS_PER_STEP === 0) yield;
    }
    return matching;
  }

  #allBut(slots: BitSet): BitSet {
    return this.#objects.clone().subtract(slots);
  }
}
