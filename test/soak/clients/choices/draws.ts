/** Draws values for a client's calls from its seeded numbers. */
import type { Metadata, Row } from '../../history/records.js';
import type { Secret } from '../../history/secrets.js';
import type { SeededRandom } from '../../random.js';

const COLORS = 4;
/** Words of texts: few, so that scores tie. */
const WORDS = ['red', 'wine', 'rose', 'blue', 'sky', 'sea'];
const TEXT_WORDS_MAX = 6;
/** Few values, so that distances tie. */
const VALUES = 64;

export class Draws {
  #marks = 0;

  /** `client`: makes its marks and request ids unique among clients. */
  constructor(
    private readonly client: number,
    readonly random: SeededRandom,
  ) {}

  /** True once in this many times. */
  onceIn(times: number): boolean {
    return this.random.int(times) === 0;
  }

  row(dimension: number): Row {
    const metadata = this.metadata();
    return { vector: this.vector(dimension), metadata, text: this.#text(), requestId: this.#requestId(metadata.mark) };
  }

  /** `keyId` null: the vault creates a key. */
  secret(keyId: string | null): Secret {
    const mark = this.mark();
    return { mark, keyId, requestId: this.#requestId(mark) };
  }

  metadata(): Metadata {
    return { color: this.color(), mark: this.mark() };
  }

  word(): string {
    return this.random.pick(WORDS);
  }

  mark(): number {
    return this.client * 1e9 + ++this.#marks;
  }

  color(): number {
    return this.random.int(COLORS);
  }

  vector(dimension: number): number[] {
    // No vector is zero: a collection that divides by the length refuses it.
    return Array.from({ length: dimension }, () => 1 + this.random.int(VALUES));
  }

  /** A key id that no other client draws. */
  keyId(): string {
    return hex(this.mark());
  }

  #requestId(mark: number): string | null {
    return this.onceIn(10) ? null : hex(mark);
  }

  /** Two of three rows have a text. */
  #text(): string | null {
    if (this.onceIn(3)) return null;
    return Array.from({ length: 1 + this.random.int(TEXT_WORDS_MAX) }, () => this.word()).join(' ');
  }
}

const hex = (mark: number): string => mark.toString(16).padStart(32, '0');
