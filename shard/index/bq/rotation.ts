/**
 * A rotation that spreads what a vector holds over all components, so that their signs say as much as they can. A vector is
 * filled up with zeros to a multiple of 64 components; then signs are flipped and a Walsh–Hadamard transform is applied, of as many
 * components as a power of two allows, several times: from the front and from the back in turn, where it does not reach all.
 *
 * The flips are the same everywhere and for ever: saved codes depend on them. So is the result, to the bit: it takes sums,
 * differences and products of doubles.
 */
import { SeededNumbers } from '../../../shared/seededNumbers.js';

const UNIT = 64;
const SEED = 0x2545f491;

export const rotatedDimension = (dimension: number): number => Math.ceil(dimension / UNIT) * UNIT;

export class Rotation {
  readonly #flips: readonly Float64Array[];
  /** Components of a transform. */
  readonly #size: number;

  /** Of vectors of a `rotatedDimension`. */
  constructor(dimension: number) {
    const numbers = new SeededNumbers(SEED);
    this.#size = 2 ** Math.floor(Math.log2(dimension));
    const rounds = this.#size === dimension ? 2 : 4;
    const flip = (): number => (numbers.next() < 0.5 ? -1 : 1);
    this.#flips = Array.from({ length: rounds }, () => Float64Array.from({ length: dimension }, flip));
  }

  /** Rotates the vector in its place. */
  apply(vector: Float64Array): void {
    for (const [round, flips] of this.#flips.entries()) {
      for (let i = 0; i < vector.length; i++) vector[i]! *= flips[i]!;
      transform(vector, round % 2 === 0 ? 0 : vector.length - this.#size, this.#size);
    }
  }
}

/** The Walsh–Hadamard transform of `size` components, a power of two above 32, that leaves lengths as they are. */
function transform(vector: Float64Array, from: number, size: number): void {
  const end = from + size;
  let half = 1;
  // Two steps at a time: each number is read and written half as often.
  for (; 2 * half < size; half *= 4)
    for (let begin = from; begin < end; begin += 4 * half)
      for (let i = begin; i < begin + half; i++) {
        const a = vector[i]!;
        const b = vector[i + half]!;
        const c = vector[i + 2 * half]!;
        const d = vector[i + 3 * half]!;
        const sum = a + b;
        const difference = a - b;
        const otherSum = c + d;
        const otherDifference = c - d;
        vector[i] = sum + otherSum;
        vector[i + half] = difference + otherDifference;
        vector[i + 2 * half] = sum - otherSum;
        vector[i + 3 * half] = difference - otherDifference;
      }
  if (half < size)
    for (let i = from; i < from + half; i++) {
      const a = vector[i]!;
      const b = vector[i + half]!;
      vector[i] = a + b;
      vector[i + half] = a - b;
    }
  const scale = 1 / Math.sqrt(size);
  for (let i = from; i < end; i++) vector[i]! *= scale;
}
