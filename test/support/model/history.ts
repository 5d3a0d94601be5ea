/** All that was ever committed to a collection: replayed to any of its events, it gives the model of that time. */
import { ModelCollection } from './records.js';

/** When something happened, as far as is known: not before the one, not after the other. Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Committed extends Span {
  /** Of its receipt; undefined where none was answered. */
  readonly stateHash?: string | undefined;
  readonly apply: (model: ModelCollection) => void;
}

/** A state of the past, and how a request names it. */
export interface Moment {
  readonly request: { readonly as_of_log_index?: number; readonly as_of?: string };
  readonly logIndex: number;
  /** What ages are counted to. */
  readonly agesTo: Span;
}

export class ModelHistory {
  /** After all of it. */
  readonly now: ModelCollection;
  readonly #events: Committed[] = [];
  /** By log index: one state, one hash, however often and late it is asked for. */
  readonly #stateHashes = new Map<number, string>();

  constructor(readonly name: string) {
    this.now = new ModelCollection(name);
  }

  get length(): number {
    return this.#events.length;
  }

  commit(event: Committed): void {
    this.#events.push(event);
    event.apply(this.now);
    if (event.stateHash !== undefined) this.#stateHashes.set(this.length, event.stateHash);
  }

  /** After so many events. */
  at(logIndex: number): ModelCollection {
    const model = new ModelCollection(this.name);
    for (const { apply } of this.#events.slice(0, logIndex)) apply(model);
    return model;
  }

  /** Undefined before the first event. */
  timeOf(logIndex: number): Span | undefined {
    return this.#events[logIndex - 1];
  }

  byLogIndex(logIndex: number): Moment {
    const agesTo = this.timeOf(logIndex) ?? { fromMs: 0, toMs: 0 };
    return { request: { as_of_log_index: logIndex }, logIndex, agesTo };
  }

  /** The last millisecond before the next event, or one that the last is not after; undefined where two may share it. */
  byTime(logIndex: number): Moment | undefined {
    const [last, next] = [this.timeOf(logIndex), this.timeOf(logIndex + 1)];
    const timeMs = next === undefined ? last?.toMs : next.fromMs - 1;
    if (timeMs === undefined || (last !== undefined && last.toMs > timeMs)) return undefined;
    const as_of = new Date(timeMs).toISOString();
    return { request: { as_of }, logIndex, agesTo: { fromMs: timeMs, toMs: timeMs } };
  }

  /** The one that was seen of that state first: of its receipt, or `seen`. */
  stateHash(logIndex: number, seen: string): string {
    const known = this.#stateHashes.get(logIndex) ?? seen;
    this.#stateHashes.set(logIndex, known);
    return known;
  }
}
