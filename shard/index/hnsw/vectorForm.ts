/**
 * The form in which a graph stores vectors: codes of a byte per component, or f32 if bytes would confuse neighbours.
 * The codes of a graph have one step, and a middle for each dimension. So distances between codes are in units of the step.
 */
import { paddedCodeBytes } from '../../kernel/planeMemory.js';
import type { BuildRows } from '../kind.js';
import type { BuildProgress } from '../progress.js';

/** The number 1 in Q16.16. */
const ONE = 65_536;
/** Factor above the rounding error of a sum of 32,768 squares in f32. */
const FLOAT_DOUBT = 1 + 1 / 256;
const CODE_MAX = 127;
const FLOAT_BYTES = 4;
const LANES = 16;

/** Fewest dimensions, and fewest rows to choose the step from, with which codes save more than they lose. */
const CODED_DIMENSION_MIN = 16;
const CODED_ROWS_MIN = 1024;
/** Range of codes relative to the range of the rows, so that later rows fit too. */
const RANGE = 1.25;
/** Number of rows sampled to decide whether codes distinguish them. */
const SAMPLED_ROWS = 1024;
/** Number of those whose nearest row in the sample is looked for. */
const SAMPLED_QUERIES = 64;
/** Largest squared error of a code, relative to the squared distance between a row and the nearest one in the sample. */
const LOSS_MAX = 1 / 16;
/** A row is outside the range of the codes if its squared error is so many times the mean one. */
const OUTSIDE = 4;

/** The form of a graph's vectors. `middles` and `step` are those of codes, in Q16.16. */
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

/** Returns the bytes of a stored vector, a multiple of 16. */
export const vectorBytesOf = ({ isFloat, middles: { length } }: VectorForm): number =>
  isFloat ? Math.ceil((length * FLOAT_BYTES) / LANES) * LANES : paddedCodeBytes(length);

/**
 * Returns the words of a vector as the graph stores it. Returns undefined for a vector outside the range of the codes, which is
 * farther from its code than others. `components`: in Q16.16.
 */
export function encoded(form: VectorForm, components: Int32Array): Int32Array | undefined {
  const { isFloat, middles, step } = form;
  const bytes = new ArrayBuffer(vectorBytesOf(form));
  if (isFloat) {
    const numbers = new Float32Array(bytes);
    for (let i = 0; i < components.length; i++) numbers[i] = components[i]! / ONE;
    return new Int32Array(bytes);
  }
  const codes = new Int8Array(bytes);
  let loss = 0;
  for (let i = 0; i < components.length; i++) {
    const offset = components[i]! - middles[i]!;
    const code = codeOf(offset / step);
    codes[i] = code;
    const error = offset - step * code;
    loss += error * error;
  }
  return loss <= OUTSIDE * codeLoss(form) ? new Int32Array(bytes) : undefined;
}

/** Returns the code of a distance from the middle. Comparisons take half the time of `Math.min` and `Math.max`, which handle -0 and NaN. */
function codeOf(steps: number): number {
  const code = Math.round(steps);
  if (code > CODE_MAX) return CODE_MAX;
  return code < -CODE_MAX ? -CODE_MAX : code;
}

/** Returns the mean squared distance of a row from its code, for rows spread evenly between codes. */
const codeLoss = ({ step, middles }: VectorForm): number => (middles.length * step * step) / 12;

const bits = new Uint32Array(1);
const asFloat = new Float32Array(bits.buffer);

/**
 * Returns the squared distance of codes beyond which a row is hardly nearer than one at `distance`. The rounding of two codes
 * gives their difference a variance of 1/6 per dimension. So a squared distance d² has a standard deviation of 2d/√6, to which
 * the squared errors add with the dimensions. Two distances are compared, and the margin is three deviations. Distances of
 * floats have only rounding errors.
 */
export function doubtfulUpTo({ isFloat, middles }: VectorForm, distance: number): number {
  if (!isFloat) return distance + 3.5 * Math.sqrt(distance + middles.length / 17);
  bits[0] = distance;
  asFloat[0] = asFloat[0]! * FLOAT_DOUBT;
  return bits[0];
}

/** Returns codes for these rows; floats if the rows are few, or codes would confuse neighbours. Throws Cancelled. */
export function formFor(rows: BuildRows, progress: BuildProgress): VectorForm {
  const { dimension, count } = rows;
  if (dimension < CODED_DIMENSION_MIN || count < CODED_ROWS_MIN) return floats(dimension);
  const lows = new Int32Array(dimension).fill(2 ** 31 - 1);
  const highs = new Int32Array(dimension).fill(-(2 ** 31));
  for (let ordinal = 0; ordinal < count; ordinal++) {
    progress.obey();
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

/** Whether codes that were chosen for the rows below `first` also suit nearly all others. */
export function stillSuits(form: VectorForm, rows: BuildRows, first: number): boolean {
  if (form.isFloat) return false;
  let outside = 0;
  for (const ordinal of sampled(rows, first)) if (encoded(form, rows.components(ordinal)) === undefined) outside++;
  return outside <= SAMPLED_ROWS / 16;
}

/**
 * Returns the median of the squared distances between a sampled row and the nearest other vector in the sample; 0 if all
 * rows are equal.
 */
function nearestSquared(rows: BuildRows, progress: BuildProgress): number {
  const sample = [...sampled(rows, 0)];
  const apart = sample.slice(0, SAMPLED_QUERIES).map((query) => {
    progress.obey();
    const components = rows.components(query).slice();
    let nearest = Number.POSITIVE_INFINITY;
    for (const other of sample) if (other !== query) nearest = nearer(nearest, components, rows.components(other));
    return nearest;
  });
  const median = apart.sort((one, other) => one - other)[apart.length >>> 1] ?? 0;
  return Number.isFinite(median) ? median : 0;
}

/** Returns the squared distance of two rows if it is below `nearest` and not 0; otherwise `nearest`. */
function nearer(nearest: number, one: Int32Array, other: Int32Array): number {
  let squares = 0;
  for (let i = 0; i < one.length && squares < nearest; i++) squares += (one[i]! - other[i]!) ** 2;
  return squares > 0 ? Math.min(nearest, squares) : nearest;
}

/** Yields live ordinals from `first` on, evenly spaced. */
function* sampled(rows: BuildRows, first: number): Generator<number> {
  const apart = Math.max(1, (rows.count - first) / SAMPLED_ROWS);
  for (let at = first; at < rows.count; at += apart) if (rows.isLive(Math.floor(at))) yield Math.floor(at);
}
