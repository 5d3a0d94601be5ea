/**
 * Reads a page of the live records in the order of their values at a metadata path.
 *
 * First it collects the values of all records with the path, in about a microsecond each, and keeps the page's first
 * places after the cursor. Then come the records without a value, in the order of their ids. All values are of one
 * moment. Every slot is kept until the end, so a slot means one record all the time. A record that is added to the page
 * is live, still has that value, and matches. A record that was changed meanwhile is left out. Memory: the values of one
 * key, as for facets, and twice the page.
 */

import { VouchError } from '../../shared/errors/errors.js';
import {
  compareToPlace,
  compareValues,
  MISSING,
  type OrderPlace,
  type OrderValue,
  RANK,
  type RecordOrder,
} from '../../shared/model/recordOrder.js';
import type { Results } from '../../shared/protocol/calls.js';
import { cursorOf, placeAt } from '../../shared/protocol/orderCursor.js';
import type { RecordsCall } from '../../shared/protocol/records.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { PathValues } from '../metadata/slotValues.js';
import type { CollectionState } from '../state/collectionState.js';
import { OrderValues } from './orderValues.js';
import { RecordColumns } from './recordColumns.js';
import { SlotFilter } from './slotFilter.js';

type ListCall = Extract<RecordsCall, { op: 'listRecords' }>;
/** `order`: how to order, and the cursor of the previous page. */
export type OrderedCall = ListCall & { readonly order: NonNullable<ListCall['order']> };

/** Throws `validation_error` if `order.after` is not a cursor of this order. */
export async function orderedPage(
  state: CollectionState,
  call: OrderedCall,
  slice: Slice,
): Promise<Results['listRecords']> {
  const { vectors } = state;
  const scan = vectors.beginScan();
  try {
    return await new OrderedPage(state, call, slice).read();
  } finally {
    vectors.endScan(scan);
  }
}

class OrderedPage {
  readonly #page: RecordColumns;
  readonly #values: OrderValues;
  readonly #filter: SlotFilter | undefined;
  readonly #after: OrderPlace | undefined;
  /** The place of the last record that was considered for the page. */
  #last: OrderPlace | undefined;

  constructor(
    private readonly state: CollectionState,
    private readonly call: OrderedCall,
    private readonly slice: Slice,
  ) {
    const { order, fields, filter } = call;
    this.#page = new RecordColumns(state, fields);
    this.#values = new OrderValues(order);
    this.#filter = filter && new SlotFilter(state, filter);
    if (order.after === undefined) return;
    this.#after = placeAt(order.after, order);
    if (this.#after === undefined) throw new VouchError('validation_error', 'after is not a cursor of this order');
  }

  async read(): Promise<Results['listRecords']> {
    const { order, filter, limit } = this.call;
    const found = (await this.state.metadata.values(order.path, filter, this.slice))();
    const isPastValues = this.#after?.rank === RANK.missing;
    const first = isPastValues ? [] : await this.#firstPlaces(found);
    for (const place of first.slice(0, limit)) if (!(await this.#take(place))) return this.#ended(true);
    return this.#ended(first.length > limit || !(await this.#takeMissing(found)));
  }

  /** Returns the first places after the cursor: one more than the page has, if there are so many. */
  async #firstPlaces({ values, matching }: PathValues): Promise<readonly OrderPlace[]> {
    const { order, limit } = this.call;
    const first = new FirstPlaces(limit + 1, order);
    for (const slot of values.slots) {
      if (matching?.has(slot) !== false) {
        const value = this.#values.inSlot(values, slot);
        if (value.rank !== RANK.missing) {
          const id = this.state.vectors.idOf(slot);
          if (this.#after === undefined || compareToPlace(value, id, this.#after, order) > 0) first.offer(value, id);
        }
      }
      if (this.slice.step(values.countAt(slot))) await this.slice.next();
    }
    return first.sorted();
  }

  /** Visits the records without a value by id. Returns false if the page ended before the last of them. */
  async #takeMissing({ values, matching }: PathValues): Promise<boolean> {
    const { state, slice } = this;
    for (let id = this.#after?.rank === RANK.missing ? this.#after.id + 1 : 1; id < state.nextRecordId; id++) {
      const slot = state.liveSlotOf(id);
      const isFound =
        slot === undefined
          ? matching === undefined && state.encrypted.isLivePayload(id)
          : matching?.has(slot) !== false && this.#values.inSlot(values, slot).rank === RANK.missing;
      if (isFound && !(await this.#take({ ...MISSING, id }))) return false;
      if (slice.step()) await slice.next();
    }
    return true;
  }

  /** Adds the record, unless it was changed. Returns false if the page is full. */
  async #take(place: OrderPlace): Promise<boolean> {
    const { limit, maxBytes } = this.call;
    if (this.#page.count === limit || (this.#page.count > 0 && this.#page.bytes >= maxBytes)) return false;
    const slot = this.#filter?.isSlow ? this.state.liveSlotOf(place.id) : undefined;
    if (slot !== undefined) await this.#filter!.analyse(slot, this.slice);
    if (this.#isStill(place)) this.#page.add(place.id);
    this.#last = place;
    if (this.slice.due) await this.slice.next();
    return true;
  }

  #isStill({ id, ...value }: OrderPlace): boolean {
    const { state } = this;
    const slot = state.liveSlotOf(id);
    if (slot === undefined)
      return value.rank === RANK.missing && this.#filter === undefined && state.encrypted.isLivePayload(id);
    if (compareValues(this.#values.inMetadata(state.metadataAt(slot)), value, this.call.order) !== 0) return false;
    return this.#filter?.matches(slot) !== false;
  }

  /** Returns the page. `hasMore`: records after the last place may remain. */
  #ended(hasMore: boolean): Results['listRecords'] {
    const next = hasMore && this.#last !== undefined ? cursorOf(this.#last, this.call.order) : null;
    return { ...this.#page.listed(), next };
  }
}

/** The first `count` of the offered places. It keeps up to twice as many, and sorts whenever it is full. */
class FirstPlaces {
  readonly #places: OrderPlace[] = [];
  #bound: OrderPlace | undefined;

  constructor(
    private readonly count: number,
    private readonly order: RecordOrder,
  ) {}

  /** Keeps a copy of the value. */
  offer(value: OrderValue, id: number): void {
    if (this.#bound !== undefined && compareToPlace(value, id, this.#bound, this.order) > 0) return;
    this.#places.push({ rank: value.rank, value: value.value, id });
    if (this.#places.length < 2 * this.count) return;
    this.sorted();
    this.#bound = this.#places.at(-1);
  }

  sorted(): readonly OrderPlace[] {
    this.#places.sort((a, b) => compareToPlace(a, a.id, b, this.order));
    if (this.#places.length > this.count) this.#places.length = this.count;
    return this.#places;
  }
}
