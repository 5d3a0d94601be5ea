/** What a process is told of a bucket that others write to: when the test says so. */
import type { Bucket, Change, Entry, Watch } from '../../../shared/bucket/bucket.js';

export class LateWatch implements Watch {
  /** The bucket, for the process. */
  readonly bucket: Bucket;
  readonly #held: Change[] = [];
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

  /** How many changes are not told yet. */
  get held(): number {
    return this.#held.length;
  }

  /** Tells the next change. */
  tell(): void {
    const change = this.#held.shift();
    if (change === undefined) return;
    this.#listener(change);
  }

  async caughtUp(): Promise<void> {
    while (this.held > 0) this.tell();
  }

  async read(key: string): Promise<Entry | undefined> {
    await this.caughtUp();
    return this.#watch?.read(key);
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** What there is is told at once. */
  async #begin(bucket: Bucket, listener: (change: Change) => void): Promise<Watch> {
    this.#listener = listener;
    this.#watch = await bucket.watch((change) => this.#held.push(change));
    await this.caughtUp();
    return this;
  }
}
