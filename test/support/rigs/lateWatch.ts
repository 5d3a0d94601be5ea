/** What a process is told of a bucket that others write to: when the test says so. */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';

export class LateWatch implements Watch {
  /** Undefined: the watch has begun anew, and is catching up. */
  toldUpTo: number | undefined = 0;
  readonly #held: Change[] = [];

  private constructor(private readonly listener: (change: Change) => void) {}

  /** What there is is told at once. */
  static async start(bucket: Bucket, listener: (change: Change) => void): Promise<LateWatch> {
    const late = new LateWatch(listener);
    const watch = await bucket.watch((change) => late.#held.push(change));
    late.#stop = watch.stop;
    await late.caughtUp();
    return late;
  }

  #stop: () => void = () => undefined;

  /** How many changes are not told yet. */
  get held(): number {
    return this.#held.length;
  }

  /** Tells the next change. */
  tell(): void {
    const change = this.#held.shift();
    if (change === undefined) return;
    if (this.toldUpTo !== undefined) this.toldUpTo = Math.max(this.toldUpTo, change.entry?.revision ?? 0);
    this.listener(change);
  }

  /** The next change was replaced before the watch came to it. */
  forgetFirst(): void {
    this.#held.shift();
  }

  async caughtUp(): Promise<void> {
    while (this.held > 0) this.tell();
  }

  stop(): void {
    this.#stop();
  }
}
