/** The measured parts, in order. */
export const PARTS = [
  'kernel',
  'engine',
  'index',
  'segments',
  'search',
  'proof',
  'restart',
  'erasure',
  'http',
  'memory',
  'large',
  'scale',
  'overload',
  'stalls',
  'sync',
  'peers',
] as const;

/** One measured figure. */
export interface Row {
  readonly part: (typeof PARTS)[number];
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

/** Makes the rows of a part. Each name ends with `about`, the measured subject. */
export const rowAbout =
  (part: Row['part'], about = '') =>
  (name: string, value: number, unit: string): Row => ({
    part,
    name: about === '' ? name : `${name}, ${about}`,
    value,
    unit,
  });

/** The median; with an even number of values, the upper of the two in the middle. */
export const median = (values: ArrayLike<number>): number =>
  Float64Array.from(values).sort()[values.length >> 1] ?? Number.NaN;
