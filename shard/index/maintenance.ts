/** Decides whether a collection has an index, and its next step, from the number of rows and the state of the index. */
import type { DesiredKind, IndexKind } from '../../shared/model/indexSpec.js';

/** Fewest rows of an index. A generation of fewer has none: an exact scan is faster, and takes no memory. */
export const INDEXED_ROWS_MIN = 1_000;

/** Fewest rows for which `auto` builds an index, however slow an exact scan is. */
const AUTO_ROWS_MIN = 10_000;
/** `auto` drops its index below this share of the rows at which it builds one. */
const AUTO_KEPT_PART = 1 / 2;

/** A tail above both is added by a build thread: absorption in the event loop would take too long. */
const TAIL_ROWS = 4_096;
const TAIL_PART = 1 / 8;

/** If more rows than both are outside the range of a graph's codes, a new graph gets a wider range. */
const REFUSED_ROWS = 1_024;
const REFUSED_PART = 1 / 8;

/** Share of removed rows above which an index is rebuilt, since they still cost memory and time. */
const GARBAGE_PART = 0.3;

/** Growth of the rows since training at which an index gets new centroids, or a new mean. */
const TRAINED_GROWTH = 4;

/** An index is saved if more rows than both were absorbed since the last save: a crash makes it absorb them again. */
const UNSAVED_ROWS = 4_096;
const UNSAVED_PART = 1 / 4;

export interface ServingGeneration {
  readonly kind: IndexKind;
  /** False while the generation has too few rows for an index. */
  readonly indexed: boolean;
  /** Number of rows that are found through the index. */
  readonly covered: number;
  /** Number of removed rows in the index. */
  readonly garbage: number;
  /** Live rows when the index was last built from scratch. */
  readonly trainedRows: number;
  /** Number of rows to absorb. */
  readonly tail: number;
  /** Number of rows that the index can still absorb. */
  readonly capacityLeft: number;
  /** False if a row takes so long that the tail waits for the next build. */
  readonly absorbs: boolean;
  /** Number of rows that the index would not find. */
  readonly refused: number;
  /** Number of rows absorbed since the last save. */
  readonly unsaved: number;
}

export type Step = 'nothing' | 'absorb' | 'persist' | 'extend' | 'build' | 'drop';

/**
 * Returns the kind of index for `rows` live rows. An exact scan of `worthRows` rows costs as much as a search of the index
 * that `auto` builds.
 */
export function kindFor(
  desired: DesiredKind,
  rows: number,
  serving: IndexKind | undefined,
  worthRows: number,
): IndexKind | 'brute' {
  if (desired !== 'auto') return desired;
  const from = Math.max(AUTO_ROWS_MIN, worthRows);
  return rows >= (serving === undefined ? from : from * AUTO_KEPT_PART) ? 'hnsw' : 'brute';
}

/** Returns the next step. A `build` begins from scratch, an `extend` with the saved generation. */
export function nextStep(
  desired: DesiredKind,
  rows: number,
  serving: ServingGeneration | undefined,
  worthRows: number,
): Step {
  const kind = kindFor(desired, rows, serving?.kind, worthRows);
  if (kind === 'brute') return serving === undefined ? 'nothing' : 'drop';
  if (serving?.kind !== kind) return 'build';
  if (!serving.indexed) return rows >= INDEXED_ROWS_MIN ? 'build' : 'nothing';
  if (serving.garbage > GARBAGE_PART * (serving.covered + serving.garbage)) return 'build';
  if (kind !== 'hnsw' && rows >= TRAINED_GROWTH * serving.trainedRows) return 'build';
  const refusedMax = Math.max(REFUSED_ROWS, REFUSED_PART * serving.covered);
  if (kind === 'hnsw' && serving.capacityLeft > 0 && serving.refused > refusedMax) return 'build';
  if (serving.tail > Math.max(TAIL_ROWS, TAIL_PART * serving.covered)) return 'extend';
  if (serving.tail > 0 && serving.capacityLeft === 0) return 'extend';
  if (serving.tail > 0 && serving.absorbs) return 'absorb';
  if (serving.unsaved > Math.max(UNSAVED_ROWS, UNSAVED_PART * serving.covered)) return 'persist';
  return 'nothing';
}
