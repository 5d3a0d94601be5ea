/** The engine cuts longer tokens from a text as views of it, which would keep the whole text in memory. */
const COPIED_LENGTH = 12;
/** Memory of a token besides its characters: the header of its string, its entries in the map and the list. */
const TOKEN_BYTES = 64;

/** The tokens that occur, each with a small number, its term. The term of a deleted token is given to another. */
export class Vocabulary {
  readonly #terms = new Map<string, number>();
  readonly #tokens: string[] = [];
  readonly #unused: number[] = [];
  #characters = 0;

  /** The approximate memory, at a byte a character. */
  get bytes(): number {
    return this.#terms.size * TOKEN_BYTES + this.#characters;
  }

  find(token: string): number | undefined {
    return this.#terms.get(token);
  }

  findOrAdd(token: string): number {
    const known = this.#terms.get(token);
    if (known !== undefined) return known;
    const owned = token.length > COPIED_LENGTH ? Buffer.from(token).toString() : token;
    const term = this.#unused.pop() ?? this.#tokens.length;
    this.#tokens[term] = owned;
    this.#terms.set(owned, term);
    this.#characters += owned.length;
    return term;
  }

  delete(term: number): void {
    const token = this.#tokens[term]!;
    this.#terms.delete(token);
    this.#tokens[term] = '';
    this.#characters -= token.length;
    this.#unused.push(term);
  }
}
