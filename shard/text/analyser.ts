/**
 * Turns texts into terms, by which they are found. The plain terms are the words (`tokens.ts`). In a language they are the stems of
 * the words, without its stop words.
 *
 * A stem takes up to a microsecond a character, whatever the bytes: words longer than `STEMMED_CHARS_MAX` stay as they are.
 */
import type { Language, TextSettings } from '../../shared/model/textLanguage.js';
import { atOnce, type Steps } from '../../shared/scheduling/slice.js';
import { LANGUAGE_RULES } from './languages.js';
import { tokensOf } from './tokens.js';

/** Some stemmers take quadratic time, and longer words belong to no language. */
const STEMMED_CHARS_MAX = 64;
/** Characters of one step: a tenth of a millisecond. */
const CHARS_PER_STEP = 128;
/** Stems that are kept, in one thread and language. */
const KEPT_MAX = 16_384;
/** Longer words are not kept: V8 would keep the whole text of each. */
const KEPT_CHARS_MAX = 12;

export interface Analyser {
  /** Whether terms are stems: they cost many times as much. */
  readonly isStemming: boolean;
  /** Returns the terms of a text, in its order. */
  termsOf(text: string): string[];
  inSteps(text: string): Steps<string[]>;
}

export const PLAIN: Analyser = {
  isStemming: false,
  termsOf: tokensOf,
  *inSteps(text) {
    const words = tokensOf(text);
    yield;
    return words;
  },
};

class Stemming implements Analyser {
  readonly isStemming = true;
  readonly #stem: (word: string) => string;
  readonly #stopWords: ReadonlySet<string>;
  readonly #kept = new Map<string, string>();

  constructor(language: Language) {
    const { stem, stopWords } = LANGUAGE_RULES[language];
    this.#stem = stem;
    // A contraction, such as "don't", is two words here, each of which may matter elsewhere.
    this.#stopWords = new Set(stopWords.map(tokensOf).flatMap((words) => (words.length === 1 ? words : [])));
  }

  termsOf(text: string): string[] {
    return atOnce(this.inSteps(text));
  }

  *inSteps(text: string): Steps<string[]> {
    const terms: string[] = [];
    let left = CHARS_PER_STEP;
    for (const word of tokensOf(text)) {
      if (!this.#stopWords.has(word)) terms.push(this.#stemOf(word));
      left -= word.length;
      if (left > 0) continue;
      left = CHARS_PER_STEP;
      yield;
    }
    return terms;
  }

  #stemOf(word: string): string {
    if (word.length > KEPT_CHARS_MAX) return word.length > STEMMED_CHARS_MAX ? word : this.#stem(word);
    const known = this.#kept.get(word);
    if (known !== undefined) return known;
    if (this.#kept.size === KEPT_MAX) this.#kept.clear();
    const stem = this.#stem(word);
    this.#kept.set(word, stem);
    return stem;
  }
}

const STEMMING = new Map<Language, Analyser>();

/** Returns the analyser of a collection's texts. */
export function analyserOf(text: TextSettings | undefined): Analyser {
  if (text === undefined) return PLAIN;
  const known = STEMMING.get(text.language);
  if (known !== undefined) return known;
  const made = new Stemming(text.language);
  STEMMING.set(text.language, made);
  return made;
}
