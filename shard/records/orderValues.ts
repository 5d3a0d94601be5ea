/** The value of a record's metadata by which records are ordered. */
import type { Json, Scalar } from '../../shared/model/filter.js';
import { isoInstant } from '../../shared/model/isoDate.js';
import { compareValues, MISSING, type OrderValue, RANK, type RecordOrder } from '../../shared/model/recordOrder.js';
import { forEachValue, metadataObject } from '../metadata/metadataObject.js';
import { pathKey } from '../metadata/pathKey.js';
import { isScalar, type SlotValues } from '../metadata/slotValues.js';
import { isAbridged, longTerm } from '../metadata/terms.js';

type Written = { -readonly [key in keyof OrderValue]: OrderValue[key] };

/**
 * Reads the values of one order. Of several values of a record, the one that comes first in the order counts. A result is
 * valid until the next call: an object for each record would be garbage.
 */
export class OrderValues {
  readonly #key: string;
  #first: Written = { ...MISSING };
  #met: Written = { ...MISSING };
  #values: SlotValues | undefined;
  readonly #meetOrdinal = (ordinal: number): void => this.#meet(this.#values!.termOf(ordinal));

  constructor(private readonly order: RecordOrder) {
    this.#key = pathKey(order.path);
  }

  /** Returns the value among those that were collected for a slot. */
  inSlot(values: SlotValues, slot: number): OrderValue {
    setMissing(this.#first);
    this.#values = values;
    values.forEach(slot, this.#meetOrdinal);
    return this.#first;
  }

  /** Returns the value in stored metadata. */
  inMetadata(stored: Uint8Array | null): OrderValue {
    setMissing(this.#first);
    const object = metadataObject(stored);
    if (object !== undefined)
      forEachValue(object, (at, value) => {
        if (at === this.#key && isScalar(value)) this.#meet(termOf(value));
      });
    return this.#first;
  }

  #meet(term: Scalar): void {
    const met = this.#met;
    setValue(met, term);
    if (compareValues(met, this.#first, this.order) >= 0) return;
    this.#met = this.#first;
    this.#first = met;
  }
}

const termOf = (value: Json & Scalar): Scalar => (isAbridged(value) ? longTerm(value) : value);

function setMissing(value: Written): void {
  value.rank = MISSING.rank;
  value.value = MISSING.value;
}

/** `term`: the value, or the term of a long string, which is longer than any date. */
function setValue(value: Written, term: Scalar): void {
  if (term === null) setMissing(value);
  else if (typeof term === 'string') {
    const instant = isoInstant(term);
    value.rank = instant === undefined ? RANK.string : RANK.date;
    value.value = instant ?? term;
  } else {
    value.rank = typeof term === 'number' ? RANK.number : RANK.boolean;
    // 0 and −0 are one number.
    value.value = Number(term) + 0;
  }
}
