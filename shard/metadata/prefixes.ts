/** The texts of the tests that look for strings with a beginning. */
import { partition } from '../kernel/partition.js';

/** A text that tests look for, with the last record that has a value with it. */
export interface SoughtText {
  readonly text: string;
  record: number;
}

interface Sorted {
  readonly text: string;
  /** All texts that this one begins with, and itself; ascending by length. */
  readonly beginnings: readonly SoughtText[];
}

/** Texts that values may begin with. A value is compared with few of them, however many there are. */
export class Prefixes {
  readonly #texts: SoughtText[] = [];
  /** In order; undefined until a value is met. */
  #sorted: readonly Sorted[] | undefined;

  add(text: string): SoughtText {
    const sought = { text, record: 0 };
    this.#texts.push(sought);
    return sought;
  }

  /** Marks the texts that the value begins with. */
  meet(value: string, record: number): void {
    if (this.#texts.length === 0) return;
    this.#sorted ??= sorted(this.#texts);
    const texts = this.#sorted;
    // The value's beginnings are all beginnings of the greatest text that is not greater than the value.
    const nearest = texts[partition(texts.length, (at) => texts[at]!.text <= value) - 1];
    if (nearest === undefined) return;
    const { beginnings } = nearest;
    const shared = sharedChars(nearest.text, value);
    let at = partition(beginnings.length, (i) => beginnings[i]!.text.length <= shared) - 1;
    // Where one is marked, so are all shorter ones.
    for (; at >= 0 && beginnings[at]!.record !== record; at--) beginnings[at]!.record = record;
  }
}

function sorted(texts: readonly SoughtText[]): Sorted[] {
  const beginnings: SoughtText[] = [];
  return [...texts]
    .sort((one, other) => (one.text < other.text ? -1 : Number(one.text > other.text)))
    .map((sought) => {
      while (beginnings.length > 0 && !sought.text.startsWith(beginnings.at(-1)!.text)) beginnings.pop();
      beginnings.push(sought);
      return { text: sought.text, beginnings: [...beginnings] };
    });
}

function sharedChars(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at;
}
