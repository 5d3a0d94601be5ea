/**
 * The last event of each record in a commit in progress. Few writes ask for it, so it is looked up in the events on demand: the
 * others pay nothing.
 */
import type { Event } from '../../shared/log/event.js';

/** An event that writes a record. */
type WritingEvent = Exclude<Extract<Event, { recordId: number | null }>, { type: 'addNode' }>;

export class PlannedChanges {
  readonly #last = new Map<number, WritingEvent>();
  #noted = 0;

  constructor(private readonly events: readonly Event[]) {}

  /** Returns the metadata that the commit gives the record; undefined if it gives none. */
  metadata(recordId: number): Uint8Array | null | undefined {
    const last = this.last(recordId);
    return last !== undefined && 'metadata' in last ? last.metadata : undefined;
  }

  /** Returns undefined if the commit does not write the record. */
  last(recordId: number): WritingEvent | undefined {
    for (; this.#noted < this.events.length; this.#noted++) {
      const event = this.events[this.#noted]!;
      if ('recordId' in event && event.type !== 'addNode') this.#last.set(event.recordId, event);
    }
    return this.#last.get(recordId);
  }
}
