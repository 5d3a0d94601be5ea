/** Searches by text, alone and joined with a search by vector. */
import type { Asked } from './asked.js';

interface WordsSearchedFor {
  readonly words: readonly string[];
  readonly k: number;
  /** Only records of this colour; null: all. */
  readonly color: number | null;
}

export interface TextCall
  extends Asked<'searchText', { readonly ids: readonly number[]; readonly textScores: readonly number[] }>,
    WordsSearchedFor {}

export interface HybridAnswer {
  readonly ids: readonly number[];
  readonly scores: readonly number[];
  readonly textScores: readonly number[];
}

export interface HybridCall extends Asked<'searchHybrid', HybridAnswer>, WordsSearchedFor {
  readonly query: readonly number[];
  /** Weight of the text, from 0 to 1. */
  readonly weight: number;
  readonly fusion: 'blend' | 'rrf';
}
