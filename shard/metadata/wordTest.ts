/** Tests whether a text has the words of another: all of them, any of them, or all in a row. */
import { unreachable } from '../../shared/errors/errors.js';
import type { WordMode } from '../../shared/model/filter.js';
import { Needle } from './needle.js';

/** Separates the words in a row; no word contains it. */
const BETWEEN = '\n';

const row = (tokens: readonly string[]): string => `${BETWEEN}${tokens.join(BETWEEN)}${BETWEEN}`;

export class WordTest {
  /** The distinct words. */
  readonly words: ReadonlySet<string>;
  readonly #row: Needle | undefined;

  /** `tokens`: the words to find; without any, no text matches. */
  constructor(
    readonly mode: WordMode,
    tokens: readonly string[],
  ) {
    this.words = new Set(tokens);
    if (mode === 'phrase') this.#row = new Needle(row(tokens));
  }

  /** `tokens`: the words of a text. Takes time linear in their length. */
  isIn(tokens: readonly string[]): boolean {
    const { words, mode } = this;
    if (words.size === 0) return false;
    switch (mode) {
      case 'any':
        return tokens.some((token) => words.has(token));
      case 'all':
        return new Set(tokens.filter((token) => words.has(token))).size === words.size;
      case 'phrase':
        return this.#row!.isIn(row(tokens));
      default:
        return unreachable(mode);
    }
  }
}
