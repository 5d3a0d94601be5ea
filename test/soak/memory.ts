/** Samples the memory of each process over a whole run. */
import { residentBytes } from '../../bench/processMemory.js';

const EVERY_MS = 5_000;
/** Share of a run, 1/PART, at its beginning and its end, whose medians are compared. */
const PART = 4;

export interface MemoryOf {
  readonly name: string;
  /** Medians of the second and the last quarter of the run: the first one is start-up. */
  readonly earlyBytes: number;
  readonly lateBytes: number;
  readonly peakBytes: number;
}

export class MemoryWatch {
  readonly #samples = new Map<string, number[]>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly processIds: () => Readonly<Record<string, number>>) {}

  start(): void {
    this.#timer = setInterval(() => void this.#look(), EVERY_MS);
  }

  stop(): MemoryOf[] {
    clearInterval(this.#timer);
    return [...this.#samples]
      .map(([name, samples]) => ({
        name,
        earlyBytes: median(samples.slice(samples.length / PART, (2 * samples.length) / PART)),
        lateBytes: median(samples.slice(((PART - 1) * samples.length) / PART)),
        peakBytes: Math.max(...samples),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async #look(): Promise<void> {
    const looks = Object.entries(this.processIds()).map(async ([name, pid]) => {
      // A process that ends during the sample is skipped.
      const resident = await residentBytes({ [name]: pid }).catch(() => undefined);
      const bytes = resident?.get(name);
      if (!bytes) return;
      const samples = this.#samples.get(name);
      if (samples === undefined) this.#samples.set(name, [bytes]);
      else samples.push(bytes);
    });
    await Promise.all(looks);
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
