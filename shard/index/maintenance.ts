/** Decides the next step of an index from its state and the size of the collection. */
import type { DesiredKind, IndexKind } from '../../shared/model/indexSpec.js';

/** With fewer rows a generation has no index: an exact scan is faster, and takes no memory. */
export const INDEXED_ROWS_MIN = 1_000;

/** With fewer rows `auto` has no index, however slow an exact scan is. */
const AUTO_ROWS_MIN = 10_000;
/** `auto` drops its index below this share of the rows at which it builds one. */
const AUTO_KEPT_PART = 1 / 2;

/** Beyond both, the build thread takes the tail: the owner's thread would take too long. */
const TAIL_ROWS = 4_096;
const TAIL_PART = 1 / 8;

/** Beyond both, rows outside the codes of a graph justify a new one with codes for them too. */
const REFUSED_ROWS = 1_024;
const REFUSED_PART = 1 / 8;

/** Share of removed rows, which still cost memory and time. */
const GARBAGE_PART = 0.3;

/** Growth since training that makes new centroids, means and numbers of lists worthwhile. */
const TRAINED_GROWTH = 4;

/** Rows absorbed since the last save. They must be absorbed again after a crash. */
const UNSAVED_ROWS = 4_096;
const UNSAVED_PART = 1 / 4;

export interface ServingGeneration {
  readonly kind: IndexKind;
  /** False while the generation is too small for an index. */
  readonly indexed: boolean;
  /** Rows found through the index. */
  readonly covered: number;
  readonly garbage: number;
  readonly trainedRows: number;
  /** Rows to absorb. */
  readonly tail: number;
  readonly capacityLeft: number;
  /** False if a row takes so long that the tail waits for the next build. */
  readonly absorbs: boolean;
  /** Rows that the index would not find. */
  readonly refused: number;
  readonly unsaved: number;
}

export type Step = 'nothing' | 'absorb' | 'persist' | 'extend' | 'build' | 'drop';

/**
 * Returns the kind for `rows` live rows; undefined for exact search. An exact scan of `worthRows` rows costs as much as
 * a search of the index that `auto` builds.
 */
export function kindFor(
  desired: DesiredKind,
  rows: number,
  serving: IndexKind | undefined,
  worthRows: number,
): IndexKind | undefined {
  if (desired === 'brute') return undefined;
  if (desired !== 'auto') return desired;
  const from = Math.max(AUTO_ROWS_MIN, worthRows);
  return rows >= (serving === undefined ? from : from * AUTO_KEPT_PART) ? 'hnsw' : undefined;
}

/** Steps of maintenance. A `build` starts from scratch, an `extend` from the saved generation. */
export function nextStep(
  desired: DesiredKind,
  rows: number,
  serving: ServingGeneration | undefined,
  worthRows: number,
): Step {
  const kind = kindFor(desired, rows, serving?.kind, worthRows);
  if (kind === undefined) return serving === undefined ? 'nothing' : 'drop';
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
