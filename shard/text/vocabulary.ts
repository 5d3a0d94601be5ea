import { mapKey } from '../../shared/hashing/mapKey.js';
import { TextTable } from '../../shared/hashing/textTable.js';

/** The engine cuts longer tokens from a text as views of it, which would keep the whole text in memory. */
const COPIED_LENGTH = 12;
/** Memory of a token besides its characters: the header of its string, its entries in the map and the list. */
const TOKEN_BYTES = 64;

/**
 * The tokens that occur, each with a small number, its term. The term of a deleted token is given to another. A long token is
 * known by its hash.
 */
export class Vocabulary {
  readonly #terms = new TextTable();
  /** The keys of tokens by term. */
  readonly #keys: string[] = [];
  readonly #unused: number[] = [];
  #characters = 0;

  /** The approximate memory, at a byte a character. */
  get bytes(): number {
    return (this.#keys.length - this.#unused.length) * TOKEN_BYTES + this.#characters;
  }

  find(token: string): number | undefined {
    return this.#terms.find(mapKey(token));
  }

  findOrAdd(token: string): number {
    const key = mapKey(token);
    const known = this.#terms.find(key);
    if (known !== undefined) return known;
    const owned = key.length > COPIED_LENGTH ? Buffer.from(key).toString() : key;
    const term = this.#unused.pop() ?? this.#keys.length;
    this.#keys[term] = owned;
    this.#terms.add(owned, term);
    this.#characters += owned.length;
    return term;
  }

  delete(term: number): void {
    const key = this.#keys[term]!;
    this.#terms.delete(key);
    this.#keys[term] = '';
    this.#characters -= key.length;
    this.#unused.push(term);
  }
}
