/** Searches, of one collection and of several. */
import type { Asked } from './asked.js';

export interface SearchAnswer {
  readonly ids: readonly number[];
  readonly scores: readonly number[];
  /** Sequence of the searched state, if the answer names it. */
  readonly sequence: number | undefined;
  /** Hash of that state, if it is a past one. */
  readonly stateHash?: string | undefined;
}

interface SearchedFor {
  readonly query: readonly number[];
  readonly k: number;
  /** Only records of this colour; null: all. */
  readonly color: number | null;
  readonly isEventual: boolean;
}

export interface SearchCall extends Asked<'search', SearchAnswer>, SearchedFor {
  /** Searches the state after this many events; null: the present one. */
  readonly asOf: number | null;
}

export interface MultiHit {
  readonly collection: string;
  readonly id: number;
  readonly score: number;
}

export interface MultiSearchCall
  extends Asked<
      'multiSearch',
      {
        readonly hits: readonly MultiHit[];
        /** Collections that answered; the others are in `failures`. */
        readonly searched: readonly string[];
        readonly sequences: Readonly<Record<string, number>>;
        readonly failures: readonly { readonly collection: string; readonly code: string }[];
      }
    >,
    SearchedFor {
  readonly collections: readonly string[];
}

export interface Hit {
  readonly id: number;
  readonly score: number;
}

/** One collection's share of a search over several: derived from a client's call. */
export interface PartCall extends Asked<'partOfMultiSearch', SearchAnswer>, SearchedFor {
  /** Records behind it may be missing; null: none may. */
  readonly cut: Hit | null;
}
