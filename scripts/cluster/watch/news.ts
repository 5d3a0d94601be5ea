/** What happened lately. */
import type { Clock } from '../../../shared/clock.js';
import type { Mark } from '../../terminal/line.js';
import type { NewsItem } from '../snapshot.js';

const KEPT = 200;

export class News {
  readonly #clock: Clock;
  readonly #onNews: (item: NewsItem) => void;
  #items: NewsItem[] = [];
  #isQuiet = false;

  /** `onNews` is called for each as it comes. */
  constructor(clock: Clock, onNews: (item: NewsItem) => void = () => {}) {
    this.#clock = clock;
    this.#onNews = onNews;
  }

  /** Oldest first. */
  get items(): readonly NewsItem[] {
    return this.#items;
  }

  add(mark: Mark, text: string, isComplaint = false): void {
    if (this.#isQuiet) return;
    const item = { atMs: this.#clock.nowMs(), mark, text, isComplaint };
    this.#items = [...this.#items.slice(1 - KEPT), item];
    this.#onNews(item);
  }

  /** What `work` finds out is how things are, and no news. */
  async quietly<T>(work: () => Promise<T>): Promise<T> {
    this.#isQuiet = true;
    try {
      return await work();
    } finally {
      this.#isQuiet = false;
    }
  }
}
