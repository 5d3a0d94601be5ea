/**
 * The metadata of one collection, so indexed that a filter is a few operations on sets of slots.
 *
 * Every value of every record is found by its path: numbers in columns, all others in ordered terms (`PathIndex`). What
 * a record's array holds is found at the array's path. A collection whose records have more than `PATHS_MAX` paths, as
 * where keys are made of ids, has the records beyond looked up in their stored metadata, by filters on paths beyond.
 */
import { unreachable } from '../../shared/errors.js';
import { type Filter, PATH_SEPARATOR, type Test } from '../../shared/filter.js';
import { setBits } from '../kernel/bits.js';
import type { BlockShape } from '../kernel/blockShape.js';
import { SlotSet } from '../kernel/slotSet.js';
import { forEachValue, metadataObject } from './metadataObject.js';
import { PathIndex } from './pathIndex.js';
import { isNegated, type Predicate, predicateOf } from './predicate.js';
import * as slotBits from './slotBits.js';
import { SlotBits, type Words } from './slotBits.js';

/** A path takes about half a kilobyte by itself. */
const PATHS_MAX = 4_096;

export class MetadataIndex {
  readonly #paths = new Map<string, PathIndex>();
  /** Records whose metadata is a JSON object. */
  readonly #objects = new SlotBits();
  /** Those of them with a value at a path that is not among `#paths`. While there are any, no path is added. */
  readonly #beyond = new SlotBits();
  /** All slots ever seen lie below. */
  #slots = 0;

  /**
   * `metadataOf`: what is stored for a slot; it must be what was last given to `set`, until `set` or `remove` of that slot
   * has returned.
   */
  constructor(
    private readonly shape: BlockShape,
    private readonly metadataOf: (slot: number) => Uint8Array | null,
    private readonly pathsMax = PATHS_MAX,
  ) {}

  /** Heap taken, about. */
  get bytes(): number {
    let sum = this.#objects.bytes + this.#beyond.bytes;
    for (const [path, index] of this.#paths) sum += path.length + index.bytes;
    return sum;
  }

  /** The metadata of a new record, or the new metadata of one; called before `metadataOf` knows of it. */
  set(slot: number, metadata: Uint8Array | null): void {
    this.remove(slot);
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

  /** The record is not found any more; called before `metadataOf` forgets it. Does nothing where it has none. */
  remove(slot: number): void {
    if (!this.#objects.has(slot)) return;
    forEachValue(metadataObject(this.metadataOf(slot))!, (path, value) => {
      const index = this.#paths.get(path);
      index?.remove(value, slot);
      if (index?.isEmpty) this.#paths.delete(path);
    });
    this.#objects.delete(slot);
    this.#beyond.delete(slot);
  }

  /** The slots whose metadata is a JSON object and matches. Of a million: half a millisecond, and 1 to 2 for a test on numbers. */
  select(filter: Filter): SlotSet {
    return SlotSet.ofWords(this.shape, this.#matching(filter));
  }

  #added(path: string): PathIndex | undefined {
    if (this.#paths.size >= this.pathsMax || this.#beyond.count > 0) return undefined;
    const index = new PathIndex();
    this.#paths.set(path, index);
    return index;
  }

  /** Always a new set, and only of `#objects`. */
  #matching(filter: Filter): Words {
    switch (filter.op) {
      case 'and': {
        const matching = this.#all();
        for (const part of filter.of) {
          if (slotBits.isEmpty(matching)) break;
          slotBits.intersectWith(matching, this.#matching(part));
        }
        return matching;
      }
      case 'or': {
        const matching = slotBits.emptyWords(this.#slots);
        for (const part of filter.of) slotBits.uniteWith(matching, this.#matching(part));
        return matching;
      }
      case 'not':
        return this.#allBut(this.#matching(filter.of));
      case 'test': {
        const matching = this.#holding(filter.path.join(PATH_SEPARATOR), filter.test);
        return isNegated(filter.test) ? this.#allBut(matching) : matching;
      }
      default:
        return unreachable(filter);
    }
  }

  /** The slots with a value at the path that `predicateOf` the test is true of. */
  #holding(path: string, test: Test): Words {
    const matching = slotBits.emptyWords(this.#slots);
    const doubtful = slotBits.emptyWords(this.#slots);
    const index = this.#paths.get(path);
    if (index !== undefined) index.select(test, matching, doubtful);
    else slotBits.uniteWith(doubtful, this.#beyond.words);
    slotBits.subtract(doubtful, matching);
    if (slotBits.isEmpty(doubtful)) return matching;
    const holds = predicateOf(test);
    for (const slot of setBits(doubtful)) if (this.#isStored(slot, path, holds)) slotBits.setBit(matching, slot);
    return matching;
  }

  /** Costs reading the metadata of the slot. */
  #isStored(slot: number, path: string, holds: Predicate): boolean {
    let isFound = false;
    forEachValue(metadataObject(this.metadataOf(slot))!, (at, value) => {
      isFound ||= at === path && holds(value);
    });
    return isFound;
  }

  #all(): Words {
    const all = slotBits.emptyWords(this.#slots);
    slotBits.uniteWith(all, this.#objects.words);
    return all;
  }

  #allBut(words: Words): Words {
    const rest = this.#all();
    slotBits.subtract(rest, words);
    return rest;
  }
}
