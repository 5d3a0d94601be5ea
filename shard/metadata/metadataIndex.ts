/**
 * The metadata of one collection, indexed so that a filter is a few operations on sets of slots.
 *
 * Every value of every record is indexed under its path (`PathIndex`). Elements of an array are indexed under the
 * array's path. At most `PATHS_MAX` paths are indexed; a collection whose keys contain ids may have more. For other
 * paths, a filter reads the stored metadata of each record that has one, once.
 *
 * Selections run in steps of bounded work (`Effort`). Records that are written in between are judged again.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { type Filter, type Json, readsTexts, type Test } from '../../shared/model/filter.js';
import { atOnce, inSlices, type Slice, type Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { BlockShape } from '../kernel/blockShape.js';
import { SlotSet } from '../kernel/slotSet.js';
import { type Analyser, PLAIN } from '../text/analyser.js';
import { Effort, WORK } from './effort.js';
import { KnownSelections, keyOf } from './knownSelections.js';
import { forEachValue, type MetadataObject, metadataObject, visitInSteps } from './metadataObject.js';
import { PathIndex } from './pathIndex.js';
import { pathKey } from './pathKey.js';
import { isNegated, pathOf, RecordWork } from './recordFilter.js';
import { allBut, both, either, orNone, type Selected } from './selected.js';
import { catchUp, Selection } from './selection.js';
import { isScalar, type PathValues, SlotValues } from './slotValues.js';
import { ValueTerms } from './terms.js';
import { selectTexts, type Texts, withTexts } from './textSelection.js';
import { WrittenSlots } from './writtenSlots.js';

/** Largest number of indexed paths. A path takes about half a kilobyte by itself. */
const PATHS_MAX = 4_096;
export interface IndexOptions {
  readonly pathsMax?: number;
  /** Work of one step. */
  readonly stepWork?: number;
  /** Absent: no record has a text. */
  readonly texts?: Texts;
  /** How words are compared; by default as they are. */
  readonly analyser?: Analyser;
}

export class MetadataIndex {
  readonly #paths = new Map<string, PathIndex>();
  /** Records whose metadata is a JSON object. */
  readonly #objects = BitSet.ofSize(1);
  /** Records with a value at a path that is not in `#paths`. While there are any, no path is added. */
  readonly #beyond = BitSet.ofSize(1);
  /** Upper bound of all slots that were set. */
  #slots = 0;
  readonly #known = new KnownSelections();
  /** Per running selection: slots whose metadata was written since it began. */
  readonly #written = new Set<WrittenSlots>();
  /** Records of which a part is indexed. Every selection judges them by their metadata. */
  readonly #partial = new Set<number>();
  readonly #analyser: Analyser;

  /**
   * `metadataOf` returns the stored metadata of a slot. While `set` or `remove` of a slot runs, it must still return the
   * old metadata.
   */
  constructor(
    private readonly shape: BlockShape,
    private readonly metadataOf: (slot: number) => Uint8Array | null,
    private readonly options: IndexOptions = {},
  ) {
    this.#analyser = options.analyser ?? PLAIN;
  }

  /** Estimated heap bytes. */
  get bytes(): number {
    let sum = this.#objects.words.byteLength + this.#beyond.words.byteLength + this.#known.bytes;
    for (const [path, index] of this.#paths) sum += path.length + index.bytes;
    return sum;
  }

  /** Indexes a new record in steps. The record does not match before `show`. */
  *prepare(slot: number, metadata: Uint8Array): Steps<void> {
    const object = metadataObject(metadata);
    if (object === undefined) return;
    yield;
    this.#partial.add(slot);
    this.#note(slot);
    yield* this.#addInSteps(slot, object);
  }

  /** Lets a prepared record match. Also call it for a record with a text and no metadata. */
  show(slot: number, metadata: Uint8Array | null): void {
    if (this.#partial.delete(slot)) this.#objects.add(slot);
    this.#slots = Math.max(this.#slots, slot + 1);
    this.#note(slot, metadata?.length);
  }

  /** Lets a record match no more. `clear` must follow. */
  hide(slot: number): void {
    this.#note(slot);
    if (this.#objects.delete(slot)) this.#partial.add(slot);
  }

  /**
   * Removes a hidden record in steps; does nothing if it has no metadata. `metadataOf` must return the metadata until it
   * ends.
   */
  *clear(slot: number): Steps<void> {
    if (!this.#partial.has(slot)) return;
    yield* this.#removeInSteps(slot);
    this.#partial.delete(slot);
  }

  /**
   * Indexes the new metadata of a record in steps. `replace` is called when `metadataOf` must begin to return the new
   * metadata.
   */
  *update(slot: number, metadata: Uint8Array, replace: () => void): Steps<void> {
    const object = metadataObject(metadata);
    yield;
    const isIndexed = this.#objects.has(slot);
    this.#partial.add(slot);
    this.#note(slot, metadata.length);
    if (isIndexed) yield* this.#removeInSteps(slot);
    replace();
    if (object === undefined) this.#objects.delete(slot);
    else this.#objects.add(slot);
    this.#note(slot, metadata.length);
    if (object !== undefined) yield* this.#addInSteps(slot, object);
    this.#partial.delete(slot);
  }

  /**
   * Indexes the new metadata of a record. Call it before `metadataOf` returns the new one. Also call it for a record
   * with a text and no metadata.
   */
  set(slot: number, metadata: Uint8Array | null): void {
    this.remove(slot);
    this.#note(slot, metadata?.length);
    this.#slots = Math.max(this.#slots, slot + 1);
    const object = metadataObject(metadata);
    if (object === undefined) return;
    this.#objects.add(slot);
    const terms = new ValueTerms();
    forEachValue(object, (path, value) => this.#addValue(slot, path, value, terms));
  }

  /** Removes a record; does nothing if it has no metadata. Call it while `metadataOf` still returns the metadata. */
  remove(slot: number): void {
    this.#note(slot);
    if (!this.#objects.has(slot)) return;
    const terms = new ValueTerms();
    forEachValue(metadataObject(this.metadataOf(slot))!, (path, value) => this.#removeValue(slot, path, value, terms));
    this.#objects.delete(slot);
    this.#beyond.delete(slot);
  }

  *#addInSteps(slot: number, object: MetadataObject): Steps<void> {
    this.#slots = Math.max(this.#slots, slot + 1);
    const terms = new ValueTerms();
    yield* visitInSteps(object, (path, value) => this.#addValue(slot, path, value, terms), this.#effort());
  }

  *#removeInSteps(slot: number): Steps<void> {
    const object = metadataObject(this.metadataOf(slot))!;
    yield;
    const terms = new ValueTerms();
    yield* visitInSteps(object, (path, value) => this.#removeValue(slot, path, value, terms), this.#effort());
    this.#beyond.delete(slot);
  }

  #addValue(slot: number, path: string, value: Json, terms: ValueTerms): void {
    const index = this.#paths.get(path) ?? this.#addPath(path);
    if (index === undefined) this.#beyond.add(slot);
    else index.add(value, slot, this.#slots, terms);
  }

  #removeValue(slot: number, path: string, value: Json, terms: ValueTerms): void {
    const index = this.#paths.get(path);
    index?.remove(value, slot, terms);
    if (index?.isEmpty) this.#paths.delete(path);
  }

  #note(slot: number, sizeBytes?: number): void {
    this.#known.wrote(slot, sizeBytes);
    for (const written of this.#written) written.add(slot, sizeBytes);
  }

  /**
   * Selects the slots whose metadata is a JSON object and matches, numbers in 1 to 2 ms per million records. Call the
   * returned function, which gives the set as of its call, once and before the next `await`. Do not change the set.
   */
  select(filter: Filter, slice: Slice): Promise<() => SlotSet> {
    const key = keyOf(filter);
    const known = this.#known.of(key);
    return this.#watched(filter, async (written) => {
      const selection = new Selection(filter, this.#analyser);
      const judge = (slot: number): Steps<number> => this.#judgeInSteps(slot, selection);
      const work = known?.work ?? (await this.#selectInto(selection, slice));
      if (known === undefined) await catchUp(written, judge, this.#effort(), slice);
      else written.addAll(known.written);
      return () => {
        const isKnown = known !== undefined && written.isEmpty;
        if (known !== undefined && !isKnown) selection.matching = known.matching.clone();
        this.#finish(written, judge);
        if (isKnown) return known.slots;
        const { matching, work: recordWork } = selection;
        const slots = SlotSet.of(this.shape, matching);
        return this.#known.keep(key, { matching, slots, work, written: new WrittenSlots(recordWork) });
      };
    });
  }

  /**
   * Collects the values that records have at a path, and selects the records that match the filter. The returned
   * function gives both as of its call. Call it exactly once, before the next `await`. Costs some 30 ns per record with
   * the path. Values of a path that is not indexed are read from the metadata. `rows`: rows to read even if they are
   * deleted.
   */
  values(path: string, filter: Filter | undefined, slice: Slice, rows?: SlotSet): Promise<() => PathValues> {
    const key = pathKey(path);
    return this.#watched(filter, async (written) => {
      const values = new SlotValues();
      await inSlices(this.#collect(key, values, rows, this.#effort()), slice);
      const selection = filter && new Selection(filter, this.#analyser);
      if (selection !== undefined) await this.#selectInto(selection, slice);
      const collectAgain = (slot: number): number => {
        values.clear(slot);
        const isRead = this.#objects.has(slot) || rows?.has(slot) === true;
        return isRead ? this.#collectFrom(slot, key, values) : 0;
      };
      const judgeInSteps = this.#judgeInSteps.bind(this);
      const judge = function* (slot: number): Steps<number> {
        const work = collectAgain(slot);
        return selection === undefined ? work : work + (yield* judgeInSteps(slot, selection));
      };
      await catchUp(written, judge, this.#effort(), slice);
      return () => {
        this.#finish(written, judge);
        return { values, matching: selection && SlotSet.of(this.shape, selection.matching) };
      };
    });
  }

  /** Returns the long string with this ordinal in the slot's metadata; undefined if the metadata was written since. */
  longValue(slot: number, path: string, values: SlotValues, ordinal: number): string | undefined {
    let found: string | undefined;
    const key = pathKey(path);
    const object = metadataObject(this.metadataOf(slot));
    if (object !== undefined)
      forEachValue(object, (at, value) => {
        if (at === key && values.isLong(ordinal, value)) found = value;
      });
    return found;
  }

  #effort(): Effort {
    return new Effort(this.options.stepWork);
  }

  /** Runs `work` while writes are collected in `written`, until `#finish` or a failure. */
  async #watched<Result>(
    filter: Filter | undefined,
    work: (written: WrittenSlots) => Promise<Result>,
  ): Promise<Result> {
    const written = new WrittenSlots(new RecordWork(filter, this.#analyser));
    for (const slot of this.#partial) written.add(slot, this.#objects.has(slot) ? this.metadataOf(slot)?.length : 0);
    this.#written.add(written);
    try {
      return await work(written);
    } catch (error) {
      this.#written.delete(written);
      throw error;
    }
  }

  #finish(written: WrittenSlots, judge: (slot: number) => Steps<number>): void {
    this.#written.delete(written);
    for (const slot of written.taken()) atOnce(judge(slot));
  }

  /** Returns the work. */
  async #selectInto(selection: Selection, slice: Slice): Promise<number> {
    const effort = this.#effort();
    const { filter } = selection;
    const universe = readsTexts(filter)
      ? await inSlices(withTexts(this.options.texts, this.#objects, this.#slots, effort), slice)
      : this.#objects;
    const { matching, doubtful } = await inSlices(this.#selected(filter, universe, effort), slice);
    selection.matching = matching;
    if (doubtful !== undefined) await inSlices(this.#judgeAll(doubtful, selection, effort), slice);
    return effort.spent;
  }

  *#judgeAll(slots: BitSet, selection: Selection, effort: Effort): Steps<void> {
    const { isSlow } = selection.record;
    for (const slot of slots) {
      effort.spend(isSlow ? yield* this.#judgeInSteps(slot, selection) : this.#judge(slot, selection));
      if (effort.endsStep()) yield;
    }
  }

  /** Judges in steps. A record that is written in between is judged again by the caller. */
  *#judgeInSteps(slot: number, selection: Selection): Steps<number> {
    const { record } = selection;
    if (record.isSlow) yield* record.analyse(this.#metadataAt(slot), record.readsText ? this.#textAt(slot) : null);
    return this.#judge(slot, selection);
  }

  #metadataAt(slot: number): Uint8Array | null {
    return this.#objects.has(slot) ? this.metadataOf(slot) : null;
  }

  /** Adds the record to the selection, or removes it, by its present metadata. Returns the work. */
  #judge(slot: number, { matching, record, work }: Selection): number {
    const metadata = this.#metadataAt(slot);
    if (record.matches(metadata, record.readsText ? this.#textAt(slot) : null)) matching.add(slot);
    else matching.delete(slot);
    return work.of(metadata?.length ?? 0);
  }

  *#collect(path: string, values: SlotValues, rows: SlotSet | undefined, effort: Effort): Steps<void> {
    const index = this.#paths.get(path);
    if (index !== undefined) yield* index.collect(values, effort);
    else yield* this.#collectAll(this.#beyond, path, values, effort);
    if (rows === undefined) return;
    const dead = function* (objects: BitSet): Generator<number> {
      for (const slot of rows) if (!objects.has(slot)) yield slot;
    };
    yield* this.#collectAll(dead(this.#objects), path, values, effort);
  }

  *#collectAll(slots: Iterable<number>, path: string, values: SlotValues, effort: Effort): Steps<void> {
    for (const slot of slots) {
      effort.spend(this.#collectFrom(slot, path, values));
      if (effort.endsStep()) yield;
    }
  }

  /** Adds the values in the metadata of one record. Returns the work. */
  #collectFrom(slot: number, path: string, values: SlotValues): number {
    const metadata = this.metadataOf(slot);
    const object = metadataObject(metadata);
    if (object !== undefined)
      forEachValue(object, (at, value) => {
        if (at === path && isScalar(value)) values.add(slot, values.ordinalOf(value));
      });
    return WORK.record + WORK.byte * (metadata?.length ?? 0);
  }

  #addPath(path: string): PathIndex | undefined {
    const { pathsMax = PATHS_MAX } = this.options;
    if (this.#paths.size >= pathsMax || !this.#beyond.isEmpty) return undefined;
    const index = new PathIndex(this.#analyser);
    this.#paths.set(path, index);
    return index;
  }

  /** Returns the text of a live record. */
  #textAt(slot: number): Uint8Array | null {
    const { texts } = this.options;
    return texts?.index.has(slot) ? texts.textOf(slot) : null;
  }

  /** Selects among `universe`. */
  *#selected(filter: Filter, universe: BitSet, effort: Effort): Steps<Selected> {
    effort.spend(4 * WORK.word * this.#objects.words.length);
    if (effort.endsStep()) yield;
    switch (filter.op) {
      case 'and': {
        let all: Selected = { matching: universe.clone(), doubtful: undefined };
        for (const part of filter.of) {
          if (all.matching.isEmpty && all.doubtful === undefined) break;
          all = both(all, yield* this.#selected(part, universe, effort));
        }
        return all;
      }
      case 'or': {
        let any: Selected = { matching: BitSet.ofSize(this.#slots), doubtful: undefined };
        for (const part of filter.of) any = either(any, yield* this.#selected(part, universe, effort));
        return any;
      }
      case 'not':
        return allBut(universe, yield* this.#selected(filter.of, universe, effort));
      case 'test': {
        const found = yield* this.#found(pathOf(filter.path), filter.test, effort);
        return isNegated(filter.test) ? allBut(universe, found) : found;
      }
      case 'text':
        return yield* selectTexts(this.options.texts, filter.test, this.#slots, effort);
      default:
        return unreachable(filter);
    }
  }

  /** Returns the slots that the test finds. The caller inverts a negated test. */
  *#found(path: string, test: Test, effort: Effort): Steps<Selected> {
    const index = this.#paths.get(path);
    const matching = BitSet.ofSize(this.#slots);
    if (index === undefined) return { matching, doubtful: orNone(this.#beyond.clone()) };
    const doubtful = BitSet.ofSize(index.hasLongStrings ? this.#slots : 0);
    yield* index.select(test, matching, doubtful, effort);
    return { matching, doubtful: doubtful.isEmpty ? undefined : orNone(doubtful.subtract(matching)) };
  }
}
