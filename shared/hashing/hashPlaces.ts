/** The largest share of full places at which a part grows. The smallest is half of it. */
const FILL_MAX = 0.5;
const CAPACITY_MIN = 16;
/** Largest number of places of an undivided table. Dividing it takes about a millisecond. */
const WHOLE_PLACES_MAX = 1 << 15;
const PART_BITS = 8;
const HASH_BITS = 32;

/**
 * A hash table of ordinals with linear probing: each place holds an ordinal plus 1, or 0. A large table has parts that grow one by
 * one, so that no addition takes long.
 */
export abstract class HashPlaces {
  #parts = [new Uint32Array(CAPACITY_MIN)];
  /** The number of ordinals that each part takes before it grows; 0 or less means now. */
  #left = new Int32Array(1).fill(CAPACITY_MIN * FILL_MAX);

  /** Returns the hash of an entry: 32 bits, unsigned. */
  protected abstract hashAt(ordinal: number): number;

  protected get placesBytes(): number {
    return this.#parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** The places for a hash. Its lowest bits are the index of the first place to try. */
  protected placesOf(hash: number): Uint32Array {
    return this.#parts[this.#partOf(hash)]!;
  }

  /** Puts an ordinal into the free place that its caller has found. */
  protected put(ordinal: number, hash: number, place: number): void {
    const part = this.#partOf(hash);
    const places = this.#parts[part]!;
    places[place] = ordinal + 1;
    this.#left[part]! -= 1;
    if (this.#left[part]! <= 0) this.#grow(part);
  }

  /** Removes an ordinal, and moves back later ordinals that belong nearer to the place of their hash. */
  protected remove(ordinal: number): void {
    const hash = this.hashAt(ordinal);
    const places = this.placesOf(hash);
    const last = places.length - 1;
    let free = hash & last;
    while (places[free] !== ordinal + 1) free = (free + 1) & last;
    for (let at = (free + 1) & last; places[at] !== 0; at = (at + 1) & last) {
      const first = this.hashAt(places[at]! - 1) & last;
      if (((at - first) & last) < ((at - free) & last)) continue;
      places[free] = places[at]!;
      free = at;
    }
    places[free] = 0;
    this.#left[this.#partOf(hash)]! += 1;
  }

  #partOf(hash: number): number {
    return this.#parts.length === 1 ? 0 : hash >>> (HASH_BITS - PART_BITS);
  }

  /** Doubles a part, or divides a whole table that has grown large. */
  #grow(part: number): void {
    const places = this.#parts[part]!;
    if (this.#parts.length === 1 && places.length === WHOLE_PLACES_MAX) {
      const parts = 1 << PART_BITS;
      this.#parts = Array.from({ length: parts }, () => new Uint32Array((2 * WHOLE_PLACES_MAX) / parts));
      this.#left = Int32Array.from(this.#parts, (_, i) => this.#roomOf(i));
    } else {
      this.#parts[part] = new Uint32Array(2 * places.length);
      this.#left[part] = this.#roomOf(part);
    }
    for (const held of places) if (held > 0) this.#place(held);
  }

  /** The number of ordinals that a part takes before it grows. Parts differ, since hashes fill all of them at one pace. */
  #roomOf(part: number): number {
    return Math.floor(this.#parts[part]!.length * FILL_MAX * 2 ** (-part / this.#parts.length));
  }

  #place(held: number): void {
    const hash = this.hashAt(held - 1);
    const part = this.#partOf(hash);
    const places = this.#parts[part]!;
    const last = places.length - 1;
    let place = hash & last;
    while (places[place] !== 0) place = (place + 1) & last;
    places[place] = held;
    this.#left[part]! -= 1;
  }
}
