/** The last events of a cluster, for its view on the terminal. */
import type { Clock } from '../../../../shared/clock.js';
import type { Sign } from '../../../terminal/line.js';

const KEPT = 200;

export interface NewsItem {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly sign: Sign;
  readonly text: string;
  /** Whether it comes from the log of a process. */
  readonly isComplaint: boolean;
}

/** The last events of a cluster. */
export class News {
  /** Oldest first. */
  items: readonly NewsItem[] = [];
  #isQuiet = false;

  /** Calls `onNews` for each event. */
  constructor(
    private readonly clock: Clock,
    private readonly onNews: (item: NewsItem) => void = () => {},
  ) {}

  add(sign: Sign, text: string, isComplaint = false): void {
    if (this.#isQuiet) return;
    const item = { atMs: this.clock.nowMs(), sign, text, isComplaint };
    this.items = [...this.items.slice(1 - KEPT), item];
    this.onNews(item);
  }

  /** Runs `work` without adding events: it learns the initial state. */
  async quietly<T>(work: () => Promise<T>): Promise<T> {
    this.#isQuiet = true;
    try {
      return await work();
    } finally {
      this.#isQuiet = false;
    }
  }
}
