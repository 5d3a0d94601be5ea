/** BM25 computed for each query from maps of tokens. */
import { tokensOf } from '../../../../shard/text/tokens.js';

const K1 = 1.5;
const B = 0.75;

export class PlainTexts {
  readonly #tokens = new Map<number, readonly string[]>();

  get slots(): number[] {
    return [...this.#tokens.keys()];
  }

  add(slot: number, text: string): void {
    this.#tokens.set(slot, tokensOf(text));
  }

  remove(slot: number): void {
    this.#tokens.delete(slot);
  }

  /** Score of every text by slot. */
  scores(query: string): Map<number, number> {
    const n = this.#tokens.size;
    const total = [...this.#tokens.values()].reduce((sum, tokens) => sum + tokens.length, 0);
    const scores = new Map(this.slots.map((slot) => [slot, 0]));
    for (const token of new Set(tokensOf(query))) {
      const counts = new Map(
        [...this.#tokens].map(([slot, tokens]) => [slot, tokens.filter((other) => other === token).length]),
      );
      const df = [...counts.values()].filter((count) => count > 0).length;
      const idf = Math.log(1 + (n - df + 0.5) / (df + 0.5));
      for (const [slot, tf] of counts) {
        if (tf === 0) continue;
        const length = this.#tokens.get(slot)!.length;
        const score = (idf * tf * (K1 + 1)) / (tf + K1 * (1 - B + (B * length) / (total / n)));
        scores.set(slot, scores.get(slot)! + score);
      }
    }
    return scores;
  }

  /** Slots with a score above 0, best first, equal ones by id. */
  best(query: string, n: number, idOf: (slot: number) => number, isEligible: (slot: number) => boolean): number[] {
    return [...this.scores(query)]
      .filter(([slot, score]) => score > 0 && isEligible(slot))
      .sort(([a, one], [b, other]) => other - one || idOf(a) - idOf(b))
      .slice(0, n)
      .map(([slot]) => slot);
  }
}
