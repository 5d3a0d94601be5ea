/** What the buckets of one process share: their watchers, and values that nobody can change. */
import { messageOf } from '../errors.js';
import type { Logger } from '../logger.js';
import type { Change, Entry, Json, Watch } from './bucket.js';

type Listener = (change: Change) => void;

export class Watchers {
  readonly #listeners = new Set<{ readonly listener: Listener }>();

  constructor(private readonly logger: Logger) {}

  /** Tells `entries` in the order they were written, and from then on every change. */
  add(entries: Iterable<Entry>, listener: Listener): Watch {
    const watcher = { listener };
    this.#listeners.add(watcher);
    for (const entry of [...entries].sort((a, b) => a.revision - b.revision))
      this.#tell(listener, { key: entry.key, entry });
    return { stop: () => void this.#listeners.delete(watcher) };
  }

  tell(change: Change): void {
    for (const { listener } of this.#listeners) this.#tell(listener, change);
  }

  clear(): void {
    this.#listeners.clear();
  }

  /** A listener that fails does not keep the others, or the writer, from going on. */
  #tell(listener: Listener, change: Change): void {
    try {
      listener(change);
    } catch (error) {
      this.logger.error({ key: change.key, error: messageOf(error) }, 'a watch of a bucket failed');
    }
  }
}

/** The value as JSON would bring it back, frozen, so that the one copy can be handed to everyone. */
export const storable = (value: Json): Json => deepFreeze(JSON.parse(JSON.stringify(value)) as Json);

export function deepFreeze(value: Json): Json {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) if (inner !== undefined) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
