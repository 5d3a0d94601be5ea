import { paddedCodeBytes } from '../../kernel/planeMemory.js';
import type { BuildRows } from '../kind.js';
import type { BuildProgress } from '../progress.js';

const ONE = 65_536;
/** More than what adding up 32,768 squares in f32 is off by. */
const FLOAT_DOUBT = 1 + 1 / 256;
const CODE_MAX = 127;
const FLOAT_BYTES = 4;
const LANES = 16;

/** With fewer dimensions, or fewer rows to choose the step for, codes are not worth what they lose. */
const CODED_DIMENSION_MIN = 16;
const CODED_ROWS_MIN = 1024;
/** How much wider than the rows that it is chosen for the range of codes is, so that rows to come fit into it. */
const RANGE = 1.25;
/** Rows by which it is seen whether codes tell them apart; of so many the nearest is looked for among all of these. */
const SAMPLED_ROWS = 1024;
const SAMPLED_QUERIES = 64;
/** Of the squared distance of a row to the nearest of the sample, what its code may be away from it. */
const LOSS_MAX = 1 / 16;
/** A row whose code is farther away than this many times the mean lies outside of the range. */
const OUTSIDE = 4;

/** How the vectors of a graph are stored. `middles` and `step` are those of codes, in Q16.16. */
export interface VectorForm {
  readonly isFloat: boolean;
  readonly middles: Int32Array;
  readonly step: number;
}

const floats = (dimension: number): VectorForm => ({
  isFloat: true,
  middles: new Int32Array(dimension),
  step: 0,
});

/** The bytes of a stored vector: a multiple of 16. */
export const vectorBytesOf = ({ isFloat, middles: { length } }: VectorForm): number =>
  isFloat ? Math.ceil((length * FLOAT_BYTES) / LANES) * LANES : paddedCodeBytes(length);

/** The words of a vector of Q16.16 components as a graph of this form stores it. */
export function encoded(form: VectorForm, components: Int32Array): Int32Array {
  const { isFloat, middles, step } = form;
  const bytes = new ArrayBuffer(vectorBytesOf(form));
  if (isFloat) {
    const numbers = new Float32Array(bytes);
    for (let i = 0; i < components.length; i++) numbers[i] = components[i]! / ONE;
  } else {
    const codes = new Int8Array(bytes);
    for (let i = 0; i < components.length; i++) codes[i] = codeOf(components[i]!, middles[i]!, step);
  }
  return new Int32Array(bytes);
}

const codeOf = (component: number, middle: number, step: number): number =>
  Math.max(-CODE_MAX, Math.min(CODE_MAX, Math.round((component - middle) / step)));

/** Whether a vector is about as far from its code as others: false where it lies outside of the range of codes. */
export function suits(form: VectorForm, components: Int32Array): boolean {
  const { isFloat, middles, step } = form;
  if (isFloat) return true;
  let loss = 0;
  for (let i = 0; i < components.length; i++) {
    const component = components[i]!;
    loss += (component - middles[i]! - step * codeOf(component, middles[i]!, step)) ** 2;
  }
  return loss <= OUTSIDE * codeLoss(form);
}

/** The mean squared distance between a row and its code, where the row lies anywhere between codes. */
const codeLoss = ({ step, middles }: VectorForm): number => (middles.length * step * step) / 12;

const bits = new Uint32Array(1);
const asFloat = new Float32Array(bits.buffer);

/**
 * A distance of the kernel above which no row is likely to be nearer than one at `distance`. The difference of two codes is
 * off by 1/6 in its square, so that the square of a distance d of codes has a standard deviation of 2d/√6; the squares of what
 * each is off by add to it with the dimensions. Two distances are compared, and this is three deviations. Floats are off by
 * their last bits.
 */
export function doubtfulUpTo({ isFloat, middles }: VectorForm, distance: number): number {
  if (!isFloat) return distance + 3.5 * Math.sqrt(distance + middles.length / 17);
  bits[0] = distance;
  asFloat[0] = asFloat[0]! * FLOAT_DOUBT;
  return bits[0];
}

/** Chooses codes for these rows: floats where they are few, or where codes do not tell neighbours apart. Throws Cancelled. */
export function formFor(rows: BuildRows, progress: BuildProgress): VectorForm {
  const { dimension, count } = rows;
  if (dimension < CODED_DIMENSION_MIN || count < CODED_ROWS_MIN) return floats(dimension);
  const lows = new Int32Array(dimension).fill(2 ** 31 - 1);
  const highs = new Int32Array(dimension).fill(-(2 ** 31));
  for (let ordinal = 0; ordinal < count; ordinal++) {
    progress.assertWanted();
    if (!rows.isLive(ordinal)) continue;
    const components = rows.components(ordinal);
    for (let i = 0; i < dimension; i++) {
      const component = components[i]!;
      if (component < lows[i]!) lows[i] = component;
      if (component > highs[i]!) highs[i] = component;
    }
  }
  const span = highs.reduce((most, high, i) => Math.max(most, high - lows[i]!), 1);
  const middles = lows.map((low, i) => Math.round(low / 2 + highs[i]! / 2));
  const form = { isFloat: false, middles, step: (RANGE * span) / (2 * CODE_MAX) };
  return codeLoss(form) <= LOSS_MAX * nearestSquared(rows, progress) ? form : floats(dimension);
}

/** Whether the rows from `first` on are told apart by the codes that were chosen for others. */
export function stillSuits(form: VectorForm, rows: BuildRows, first: number): boolean {
  if (form.isFloat) return false;
  let outside = 0;
  for (const ordinal of sampled(rows, first)) if (!suits(form, rows.components(ordinal))) outside++;
  return outside <= SAMPLED_ROWS / 16;
}

/** The median squared distance of a row of a sample to the nearest of the others, in Q16.16 squared; 0 where most are equal. */
function nearestSquared(rows: BuildRows, progress: BuildProgress): number {
  const sample = [...sampled(rows, 0)];
  const apart = sample.slice(0, SAMPLED_QUERIES).map((query) => {
    progress.assertWanted();
    const components = rows.components(query);
    let nearest = Number.POSITIVE_INFINITY;
    for (const other of sample) if (other !== query) nearest = nearer(nearest, components, rows.components(other));
    return nearest;
  });
  const median = apart.sort((one, other) => one - other)[apart.length >>> 1] ?? 0;
  return Number.isFinite(median) ? median : 0;
}

/** The squared distance of two rows where they differ and that is less than `nearest`, else `nearest`. */
function nearer(nearest: number, one: Int32Array, other: Int32Array): number {
  let squares = 0;
  for (let i = 0; i < one.length && squares < nearest; i++) squares += (one[i]! - other[i]!) ** 2;
  return squares > 0 ? Math.min(nearest, squares) : nearest;
}

/** Yields live ordinals from `first` on, evenly apart. */
function* sampled(rows: BuildRows, first: number): Generator<number> {
  const apart = Math.max(1, (rows.count - first) / SAMPLED_ROWS);
  for (let at = first; at < rows.count; at += apart) if (rows.isLive(Math.floor(at))) yield Math.floor(at);
}
