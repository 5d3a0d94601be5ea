/** Searches, of one collection and of several. */
import type { Asked } from './asked.js';

export interface SearchAnswer {
  readonly ids: readonly number[];
  readonly scores: readonly number[];
  /** Of the state that was searched, where the answer tells it. */
  readonly sequence: number | undefined;
  /** Of that state, where a past one was asked for. */
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
  /** Of the state after so many events; null: as it is now. */
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
        /** Those that answered; the others are in `failures`. */
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

/** What one collection had to do with a search of several: no client's call, but worked out from one. */
export interface PartCall extends Asked<'partOfMultiSearch', SearchAnswer>, SearchedFor {
  /** Behind it a record may be missing; null: none may. */
  readonly cut: Hit | null;
}
