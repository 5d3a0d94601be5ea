/** Counts and groups the values of records at a metadata key with simple loops. */
import type { Json } from '../../../shared/model/filter.js';
import { instantOf, valuesAt } from './filter.js';

export type Scalar = string | number | boolean | null;

const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null;

/** Whole values at the key; undefined metadata has no values. */
const found = (metadata: Json | undefined, key: string): Json[] =>
  metadata === undefined ? [] : valuesAt(metadata, key.split('.'));

export const hasKey = (metadata: Json | undefined, key: string): boolean => found(metadata, key).length > 0;

/** The different strings, numbers, booleans and nulls at the key; for an array, its elements. */
export const scalarsAt = (metadata: Json | undefined, key: string): Scalar[] => [
  ...new Set(
    found(metadata, key)
      .flatMap((value) => (Array.isArray(value) ? (value as Json[]) : [value]))
      .filter(isScalar)
      // 0 and −0 are one number.
      .map((value) => (typeof value === 'number' ? value + 0 : value)),
  ),
];

const rank = (value: Scalar): number =>
  value === null ? 0 : typeof value === 'boolean' ? 1 + Number(value) : typeof value === 'number' ? 3 : 4;

export const compareScalars = (a: Scalar, b: Scalar): number =>
  rank(a) - rank(b) || (a === b ? 0 : (a as string) < (b as string) ? -1 : 1);

const ORDER = ['boolean', 'number', 'date', 'string'];

/** The kind of a value in the order of records, and what is compared. */
function orderKey(value: Exclude<Scalar, null>): [number, number | string] {
  const instant = instantOf(value);
  const kind = instant === undefined ? typeof value : 'date';
  return [ORDER.indexOf(kind), instant ?? (typeof value === 'boolean' ? Number(value) : value)];
}

/** Compares records by their first values at the key, in the order `sign`: 1 or −1. Missing ones are last. */
export const byValueAt =
  (key: string, sign: number) =>
  (a: { readonly id: number; readonly metadata: Json | undefined }, b: typeof a): number => {
    const compare = (one: Scalar, other: Scalar): number => {
      const [[kindA, keyA], [kindB, keyB]] = [orderKey(one as string), orderKey(other as string)];
      return sign * (kindA - kindB || (keyA < keyB ? -1 : keyA > keyB ? 1 : 0));
    };
    const firstOf = ({ metadata }: typeof a): Scalar | undefined =>
      scalarsAt(metadata, key)
        .filter((value) => value !== null)
        .sort(compare)[0];
    const [one, other] = [firstOf(a), firstOf(b)];
    if (one === undefined || other === undefined)
      return Number(one === undefined) - Number(other === undefined) || a.id - b.id;
    return compare(one, other) || a.id - b.id;
  };

export interface Ranked {
  readonly id: number;
  readonly score: number;
  readonly metadata: Json | undefined;
}

/** `hits`: all of them, best first. */
export function grouped(hits: readonly Ranked[], key: string, k: number, size: number): object[] {
  const groups = new Map<Scalar, Ranked[]>();
  for (const hit of hits)
    for (const value of scalarsAt(hit.metadata, key).sort(compareScalars))
      groups.set(value, [...(groups.get(value) ?? []), hit]);
  return [...groups]
    .slice(0, k)
    .flatMap(([group, members]) => members.slice(0, size).map(({ id, score }) => ({ id, score, group })));
}
