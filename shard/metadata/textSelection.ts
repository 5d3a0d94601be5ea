/** Selects records by the words of their texts, through the text index. */
import type { WordsTest } from '../../shared/model/filter.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { TextIndex } from '../text/textIndex.js';
import { type Effort, WORK } from './effort.js';
import { wordTestOf } from './recordFilter.js';
import { orNone, type Selected } from './selected.js';

const SLOTS_PER_LOOK = 4_096;

/** The texts of a collection: the index of the live ones, and the text of a slot. */
export interface Texts {
  readonly index: Pick<TextIndex, 'analyser' | 'collect' | 'has'>;
  readonly textOf: (slot: number) => Uint8Array | null;
}

/** Returns the slots of `objects`, and those below `end` with a text. */
export function* withTexts(texts: Texts | undefined, objects: BitSet, end: number, effort: Effort): Steps<BitSet> {
  const slots = BitSet.ofSize(end).unite(objects);
  if (texts === undefined) return slots;
  for (let slot = 0; slot < end; slot++) {
    if (texts.index.has(slot)) slots.add(slot);
    if (slot % SLOTS_PER_LOOK > 0) continue;
    effort.spend(SLOTS_PER_LOOK * WORK.term);
    if (effort.endsStep()) yield;
  }
  return slots;
}

/**
 * Finds the slots, below `end`, whose text passes the test. For a row of words, these are doubtful: the texts that have all of them,
 * of which only the text itself decides.
 */
export function* selectTexts(texts: Texts | undefined, test: WordsTest, end: number, effort: Effort): Steps<Selected> {
  const none = BitSet.ofSize(end);
  if (texts === undefined) return { matching: none, doubtful: undefined };
  const found = yield* withWords(texts, test, end, effort);
  return test.mode === 'phrase'
    ? { matching: none, doubtful: orNone(found) }
    : { matching: found, doubtful: undefined };
}

/** Returns the slots whose text has all words, or with `any` one of them. */
function* withWords({ index }: Texts, test: WordsTest, end: number, effort: Effort): Steps<BitSet> {
  const { words, mode } = wordTestOf(test, index.analyser);
  let selected: BitSet | undefined;
  for (const word of words) {
    const having = BitSet.ofSize(end);
    for (const _ of index.collect(word, having)) {
      effort.spend(SLOTS_PER_LOOK * WORK.term);
      if (effort.endsStep()) yield;
    }
    effort.spend(2 * WORK.word * having.words.length);
    if (selected === undefined) selected = having;
    else if (mode === 'any') selected.unite(having);
    else selected.intersect(having);
  }
  return selected ?? BitSet.ofSize(end);
}
