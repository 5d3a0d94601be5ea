/** The watchers of a local bucket, and its frozen values. */
import { messageOf } from '../errors/errors.js';
import type { Logger } from '../logger.js';
import type { BucketValue, Change, Entry, Watch } from './bucket.js';

type Listener = (change: Change) => void;

export class Watchers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();
  constructor(private readonly logger: Logger) {}

  /** Reports `entries` in the order of their revisions, and then every change. */
  add(entries: Iterable<Entry>, listener: Listener, { caughtUp, read }: Pick<Watch, 'caughtUp' | 'read'>): Watch {
    const watcher = { listener };
    this.#listeners.add(watcher);
    for (const entry of [...entries].sort((a, b) => a.revision - b.revision))
      this.#notify(listener, { key: entry.key, entry });
    return { caughtUp, read, stop: () => void this.#listeners.delete(watcher) };
  }

  notify(change: Change): void {
    for (const { listener } of this.#listeners) this.#notify(listener, change);
  }

  clear(): void {
    this.#listeners.clear();
  }

  /** Logs the error of a listener, so that the others and the writer continue. */
  #notify(listener: Listener, change: Change): void {
    try {
      listener(change);
    } catch (error) {
      this.logger.error({ key: change.key, error: messageOf(error) }, 'a watch of a bucket failed');
    }
  }
}

/** A frozen copy of the value, as JSON stores it. */
export const storable = (value: BucketValue): BucketValue =>
  deepFreeze(JSON.parse(JSON.stringify(value)) as BucketValue);

export function deepFreeze(value: BucketValue): BucketValue {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) if (inner !== undefined) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
