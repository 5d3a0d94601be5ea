/** Checks by a log alone that each record that expires is removed at its expiry, and before any later event. */
import type { LogEvent } from '../../../verifier/events.js';

export class ExpiryCheck {
  /** Expiry by record, of those that are not removed yet. */
  readonly #expiries = new Map<bigint, bigint>();
  #fault: string | undefined;

  /** The first fault of the events so far; undefined: none. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** `isExpiry`: the service removed a record, which no client deleted. */
  next(event: LogEvent, isExpiry: boolean): void {
    for (const [recordId, atMs] of this.#expiries)
      if (atMs < event.timeMs || (atMs === event.timeMs && !isExpiry))
        this.#fault ??= `event ${event.sequence} of ${event.timeMs} precedes the removal of record ${recordId}, which expires at ${atMs}`;
    if (event.type === 'insert' || event.type === 'insert encrypted') {
      if (event.expiresAtMs !== null) this.#expiries.set(event.recordId, event.expiresAtMs);
    } else if (event.type === 'delete') {
      const atMs = this.#expiries.get(event.recordId);
      if (isExpiry && atMs !== event.timeMs)
        this.#fault ??= `event ${event.sequence} of ${event.timeMs} removes record ${event.recordId}, which expires ${atMs === undefined ? 'never' : `at ${atMs}`}`;
      this.#expiries.delete(event.recordId);
    }
  }
}
