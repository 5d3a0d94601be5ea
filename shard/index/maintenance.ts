/** What an index needs next, from what it is and what the collection has become. */
import type { DesiredKind, IndexKind } from '../../shared/indexSpec.js';

/** With fewer rows a generation has no index: an exact scan of them is faster, and costs no memory. */
export const INDEXED_ROWS_MIN = 1_000;

/** `auto` gets its index at the first figure and loses it below the second. */
const AUTO_ROWS = 10_000;
const AUTO_ROWS_LEAST = 5_000;

/** A tail beyond both is left to the build thread: the owner's thread would take too long over it. */
const TAIL_ROWS = 4_096;
const TAIL_PART = 1 / 8;

/** Rows that are gone still cost memory and time. */
const GARBAGE_PART = 0.3;

/** Centroids and means fit what they were trained on, and the number of lists the number of rows. */
const TRAINED_GROWTH = 4;

/** Rows absorbed since the last save would have to be absorbed again after a crash. */
const UNSAVED_ROWS = 4_096;
const UNSAVED_PART = 1 / 4;

export interface Serving {
  readonly kind: IndexKind;
  /** False while it is too small to have one. */
  readonly indexed: boolean;
  /** Rows found through the index. */
  readonly covered: number;
  readonly garbage: number;
  readonly trainedRows: number;
  /** Rows that are to be absorbed. */
  readonly tail: number;
  readonly room: number;
  readonly unsaved: number;
}

export type Step = 'nothing' | 'absorb' | 'persist' | 'extend' | 'build' | 'drop';

/** The kind that is to serve `rows` live rows; undefined: exact search. */
export function kindFor(desired: DesiredKind, rows: number, serving: IndexKind | undefined): IndexKind | undefined {
  if (desired === 'brute') return undefined;
  if (desired !== 'auto') return desired;
  return rows >= (serving === undefined ? AUTO_ROWS : AUTO_ROWS_LEAST) ? 'hnsw' : undefined;
}

/** `build`: from scratch. `extend`: from what was saved. */
export function nextStep(desired: DesiredKind, rows: number, serving: Serving | undefined): Step {
  const kind = kindFor(desired, rows, serving?.kind);
  if (kind === undefined) return serving === undefined ? 'nothing' : 'drop';
  if (serving?.kind !== kind) return 'build';
  if (!serving.indexed) return rows >= INDEXED_ROWS_MIN ? 'build' : 'nothing';
  if (serving.garbage > GARBAGE_PART * (serving.covered + serving.garbage)) return 'build';
  if (kind !== 'hnsw' && rows >= TRAINED_GROWTH * serving.trainedRows) return 'build';
  if (serving.tail > Math.max(TAIL_ROWS, TAIL_PART * serving.covered)) return 'extend';
  if (serving.tail > 0) return serving.room > 0 ? 'absorb' : 'extend';
  if (serving.unsaved > Math.max(UNSAVED_ROWS, UNSAVED_PART * serving.covered)) return 'persist';
  return 'nothing';
}
