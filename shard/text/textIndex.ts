import { Documents, type Occurrence } from './documents.js';
import { Postings } from './postings.js';
import { ScoreBoard } from './scoreBoard.js';
import { TextMatches } from './textMatches.js';
import { tokensOf } from './tokens.js';
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
  #documents = 0;
  #tokens = 0;
  #version = 0;

  /** `idOf`: the id of the record at a slot. */
  constructor(readonly idOf: (slot: number) => number) {}

  /** Live records that have a text: N of the formula. */
  get documents(): number {
    return this.#documents;
  }

  /** Tokens of a document, on average. */
  get averageLength(): number {
    return this.#tokens / this.#documents;
  }

  /** Changes with every change. */
  get version(): number {
    return this.#version;
  }

  /** About what it takes. */
  get bytes(): number {
    return this.#vocabulary.bytes + this.#postings.bytes + this.#texts.bytes + this.#board.bytes;
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
    this.#version++;
  }

  /** The record at `slot` is not live any more. Nothing happens where it has no text. */
  remove(slot: number): void {
    if (!this.#texts.has(slot)) return;
    this.#documents--;
    this.#tokens -= this.#texts.lengths[slot]!;
    this.#version++;
    this.#texts.visit(slot, (term, position) => {
      const moved = this.#postings.remove(term, position);
      if (moved !== undefined) this.#texts.setPosition(moved, term, position);
      if (this.#postings.lengthOf(term) === 0) this.#vocabulary.delete(term);
    });
    this.#texts.remove(slot);
  }

  /** What the texts have to say to a query: of each of its words once. */
  match(query: string): TextMatches {
    const sides = { postings: this.#postings, texts: this.#texts, vocabulary: this.#vocabulary, board: this.#board };
    return new TextMatches(this, sides, [...new Set(tokensOf(query))]);
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
