/** Colours of points by a metadata field. */
import type { ListedRecord } from '../../coordinator/contract/records.js';

/** Colours that differ visibly in both themes, and for most people with impaired colour vision (after Okabe and Ito). */
const PALETTE = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a800', '#8c6bb1'];
const OTHERS = '#8a8f98';

export interface Legend {
  /** The colour of each value by its text, the most frequent value first. */
  readonly colours: ReadonlyMap<string, string>;
  readonly colourOf: (record: ListedRecord) => string;
}

/** Gives colours of their own to the most frequent values. */
export function legendOf(records: readonly ListedRecord[], key: string): Legend {
  if (key === '') return { colours: new Map(), colourOf: () => PALETTE[0]! };
  const counts = new Map<string, number>();
  for (const record of records) {
    const value = valueAt(record, key);
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const frequent = [...counts].sort(([, a], [, b]) => b - a).slice(0, PALETTE.length);
  const colours = new Map(frequent.map(([value], i) => [value, PALETTE[i]!]));
  return { colours, colourOf: (record) => colours.get(valueAt(record, key) ?? '') ?? OTHERS };
}

/** Dotted keys reach into objects. */
function valueAt({ metadata }: ListedRecord, key: string): string | undefined {
  let value: unknown = metadata;
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Top-level keys of the metadata, the most frequent first. */
export function keysOf(records: readonly ListedRecord[]): string[] {
  const counts = new Map<string, number>();
  for (const { metadata } of records)
    for (const key of Object.keys(metadata ?? {})) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([key]) => key);
}
