/** A watch of a bucket that delivers changes only when the test says so. */
import type { Bucket, Change, Entry, Watch } from '../../../shared/bucket/bucket.js';

export class LateWatch implements Watch {
  /** The bucket with this watch. */
  readonly bucket: Bucket;
  readonly #pending: Change[] = [];
  #listener: (change: Change) => void = () => undefined;
  #watch: Watch | undefined;

  constructor(bucket: Bucket) {
    const watch: Bucket['watch'] = (listener) => this.#begin(bucket, listener);
    this.bucket = new Proxy(bucket, {
      get: (target, property) => {
        const value: unknown = property === 'watch' ? watch : Reflect.get(target, property, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  /** Number of changes not yet delivered. */
  get pending(): number {
    return this.#pending.length;
  }

  /** Delivers the next change. */
  deliver(): void {
    const change = this.#pending.shift();
    if (change === undefined) return;
    this.#listener(change);
  }

  async caughtUp(): Promise<void> {
    while (this.pending > 0) this.deliver();
  }

  async read(key: string): Promise<Entry | undefined> {
    await this.caughtUp();
    return this.#watch?.read(key);
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** Delivers the current entries at once. */
  async #begin(bucket: Bucket, listener: (change: Change) => void): Promise<Watch> {
    this.#listener = listener;
    this.#watch = await bucket.watch((change) => this.#pending.push(change));
    await this.caughtUp();
    return this;
  }
}
