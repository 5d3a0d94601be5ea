import { Documents, type Occurrence } from './documents.js';
import { Postings } from './postings.js';
import { ScoreBoard } from './scoreBoard.js';
import { SLICING, TextMatches } from './textMatches.js';
import { tokensOf } from './tokens.js';
import { Turns } from './turns.js';
import { Vocabulary } from './vocabulary.js';

/** More terms than this are sorted by the engine's sort. */
const INSERTED_MAX = 40;

/**
 * The texts of a collection's live records by their words: an inverted index, and the terms of each text, by which it is
 * removed and scored. All statistics are of this moment, exactly. A text without words is a document too. The face of this
 * folder.
 */
export class TextIndex {
  readonly #vocabulary = new Vocabulary();
  readonly #postings = new Postings();
  readonly #texts = new Documents();
  readonly #board = new ScoreBoard();
  readonly #slicedBoard = new ScoreBoard();
  readonly #turns = new Turns();
  /** Those that are to be told of what is written. */
  readonly #matches = new Set<TextMatches>();
  #documents = 0;
  #tokens = 0;

  /** `idOf`: the id of the record at a slot. */
  constructor(
    readonly idOf: (slot: number) => number,
    private readonly slicing = SLICING,
  ) {}

  /** Live records that have a text: N of the formula. */
  get documents(): number {
    return this.#documents;
  }

  /** Tokens of a document, on average. */
  get averageLength(): number {
    return this.#tokens / this.#documents;
  }

  /** About what it takes. */
  get bytes(): number {
    const boards = this.#board.bytes + this.#slicedBoard.bytes;
    return this.#vocabulary.bytes + this.#postings.bytes + this.#texts.bytes + boards;
  }

  /** The text of the record that is now at `slot`, where none is. */
  add(slot: number, utf8: Uint8Array): void {
    if (this.#texts.has(slot)) throw new Error(`slot ${slot} has a text`);
    const tokens = tokensOf(Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length).toString());
    const occurrences = this.#occurrences(tokens);
    for (const occurrence of occurrences)
      occurrence.position = this.#postings.add(occurrence.term, slot, occurrence.count);
    this.#texts.add(slot, occurrences, tokens.length);
    this.#documents++;
    this.#tokens += tokens.length;
    for (const matches of this.#matches) matches.added(slot);
  }

  /** The record at `slot` is not live any more. Nothing happens where it has no text. */
  remove(slot: number): void {
    if (!this.#texts.has(slot)) return;
    for (const matches of this.#matches) matches.removing(slot);
    this.#documents--;
    this.#tokens -= this.#texts.lengthOf(slot);
    this.#texts.visit(slot, (term, position) => {
      for (const matches of this.#matches) matches.removingPosting(term, position);
      const moved = this.#postings.remove(term, position);
      if (moved !== undefined) this.#texts.setPosition(moved, term, position);
      if (this.#postings.lengthOf(term) === 0) this.#vocabulary.delete(term);
    });
    this.#texts.remove(slot);
  }

  /**
   * What the texts, as they are now, have to say to a query: of each of its words once. To be closed; until then no slot
   * may pass to another record, and each write costs a little more.
   */
  match(query: string): TextMatches {
    const sides = {
      ...{ postings: this.#postings, texts: this.#texts, vocabulary: this.#vocabulary, idOf: this.idOf },
      ...{ board: this.#board, slicedBoard: this.#slicedBoard, turns: this.#turns, slicing: this.slicing },
    };
    const statistics = { documents: this.#documents, averageLength: this.averageLength };
    const tokens = new Set(tokensOf(query));
    const matches = new TextMatches(sides, statistics, tokens, () => this.#matches.delete(matches));
    this.#matches.add(matches);
    return matches;
  }

  /** By ascending term. */
  #occurrences(tokens: readonly string[]): Occurrence[] {
    const terms = tokens.map((token) => this.#vocabulary.findOrAdd(token));
    const occurrences: Occurrence[] = [];
    for (const term of sorted(terms)) {
      const last = occurrences[occurrences.length - 1];
      if (last?.term === term) last.count++;
      else occurrences.push({ term, count: 1, position: 0 });
    }
    return occurrences;
  }
}

/** By insertion where they are few, in place: half the time of a typed array's sort. */
function sorted(terms: number[]): Iterable<number> {
  if (terms.length > INSERTED_MAX) return Uint32Array.from(terms).sort();
  for (let i = 1; i < terms.length; i++) {
    const term = terms[i]!;
    let at = i;
    for (; at > 0 && terms[at - 1]! > term; at--) terms[at] = terms[at - 1]!;
    terms[at] = term;
  }
  return terms;
}
