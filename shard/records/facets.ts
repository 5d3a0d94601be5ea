/** Counts the records that have each value of a metadata key. */
import { VouchError } from '../../shared/errors/errors.js';
import { type Filter, PATH_SEPARATOR } from '../../shared/model/filter.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { RecordsCall } from '../../shared/protocol/records.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { TopK } from '../kernel/topK.js';
import type { MetadataIndex } from '../metadata/metadataIndex.js';
import type { SlotValues } from '../metadata/slotValues.js';
import { scalarJson } from '../metadata/terms.js';

type FacetsCall = Extract<RecordsCall, { op: 'facets' }>;

/**
 * Returns the values of the key among the records that match the filter, most frequent first, equal ones by value.
 * Costs one scan of the records with the key, some 50 ns each, in slices. All counts are of one moment.
 */
export async function facets(
  metadata: MetadataIndex,
  { key, limit, filter, maxBytes }: FacetsCall,
  slice: Slice,
): Promise<Results['facets']> {
  const assertWithin = (bytes: number): void => {
    if (bytes > maxBytes)
      throw new VouchError('validation_error', `the values take more than ${maxBytes} bytes: ask for fewer of them`);
  };
  for (;;) {
    const { values, matching } = (await metadata.values(key, thatHave(key, filter), slice))();
    const { counts, examples } = await count(values, matching!, slice);
    const best = await mostFrequent(values, counts, limit, slice);
    const slots = best.ordinals.map((ordinal) => examples[ordinal]!);
    const texts = await valueTexts({ metadata, key, values }, { ordinals: best.ordinals, slots }, assertWithin, slice);
    // A long string is read from a record that has it. If that record was written since, everything is counted again.
    if (texts === undefined) continue;
    const ofBest = Array.from(best.ordinals, (ordinal) => counts[ordinal]!);
    return { values: texts, counts: ofBest, distinct: best.distinct, records: matching!.count };
  }
}

/** Values by ordinal, each with the slot of a record that has it. */
export interface NamedValues {
  readonly ordinals: Uint32Array;
  readonly slots: Uint32Array;
}

/** The values of a metadata key, and the index that reads long ones. */
interface ValuesOfKey {
  readonly metadata: Pick<MetadataIndex, 'longValue'>;
  readonly key: string;
  readonly values: SlotValues;
}

/**
 * Returns the JSON of values. A long string is read from the metadata of the record at its slot. If the record no
 * longer has it, the result is undefined. `assertWithin` receives the bytes read so far, and may throw.
 */
export async function valueTexts(
  { metadata, key, values }: ValuesOfKey,
  { ordinals, slots }: NamedValues,
  assertWithin: (bytes: number) => void,
  slice: Slice,
): Promise<string[] | undefined> {
  const texts: string[] = [];
  let bytes = 0;
  for (let i = 0; i < ordinals.length; i++) {
    const ordinal = ordinals[i]!;
    const known = values.value(ordinal);
    const value = known === undefined ? metadata.longValue(slots[i]!, key, values, ordinal) : known;
    if (value === undefined) return undefined;
    const text = scalarJson(value);
    bytes += Buffer.byteLength(text);
    assertWithin(bytes);
    texts.push(text);
    if (slice.due) await slice.next();
  }
  return texts;
}

function thatHave(key: string, filter: Filter | undefined): Filter {
  const exists: Filter = { op: 'test', path: key.split(PATH_SEPARATOR), test: { kind: 'exists', value: true } };
  return filter === undefined ? exists : { op: 'and', of: [filter, exists] };
}

interface Counted {
  /** Count of each ordinal. */
  readonly counts: Uint32Array;
  /** Slot of a record with the value, for each ordinal. */
  readonly examples: Uint32Array;
}

async function count(values: SlotValues, matching: SlotSet, slice: Slice): Promise<Counted> {
  const counts = new Uint32Array(values.count);
  const examples = new Uint32Array(values.count);
  let slot = 0;
  const visit = (ordinal: number): void => {
    counts[ordinal]! += 1;
    examples[ordinal] = slot;
  };
  for (slot of matching) {
    values.forEach(slot, visit);
    if (slice.step(values.countAt(slot))) await slice.next();
  }
  return { counts, examples };
}

async function mostFrequent(
  values: SlotValues,
  counts: Uint32Array,
  limit: number,
  slice: Slice,
): Promise<{ readonly ordinals: Uint32Array; readonly distinct: number }> {
  const best = new TopK(limit, (one, other) => values.isBefore(one, other));
  let distinct = 0;
  for (let ordinal = 0; ordinal < counts.length; ordinal++) {
    const records = counts[ordinal]!;
    if (records === 0) continue;
    distinct += 1;
    if (-records <= best.worst) best.offer(ordinal, -records, 0);
    if (slice.step()) await slice.next();
  }
  return { ordinals: best.sorted().items, distinct };
}
