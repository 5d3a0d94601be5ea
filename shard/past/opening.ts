import { setMaxListeners } from 'node:events';
import type { CollectionConfig } from '../../shared/calls.js';
import type { EventLog } from '../../shared/log/eventLog.js';

/** A collection from when it was opened until it is closed. Opened again it is another one: its log may be another. */
export class Opening {
  readonly #closing = new AbortController();

  constructor(
    /** No other opening in this process has it. */
    readonly number: number,
    readonly config: CollectionConfig,
    readonly log: EventLog,
  ) {
    // Each rebuild that waits listens; `lanes.ts` bounds them.
    setMaxListeners(0, this.closing);
  }

  /** Aborted, with what callers are told, when the collection is about to be closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(reason: Error): void {
    this.#closing.abort(reason);
  }
}
