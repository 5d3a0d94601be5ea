/** All committed changes of a collection: replayed to any event, they give the model of that moment. */
import { ModelCollection } from './records.js';

/** Known bounds of a moment: not before the first, not after the second. Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Committed extends Span {
  /** State hash of its receipt; undefined if it had no receipt. */
  readonly stateHash?: string | undefined;
  readonly apply: (model: ModelCollection) => void;
}

/** A past state, and how a request names it. */
export interface Moment {
  readonly request: { readonly as_of_log_index?: number; readonly as_of?: string };
  readonly logIndex: number;
  /** Moment that ages are counted to. */
  readonly agesTo: Span;
}

export class ModelHistory {
  /** Model after all changes. */
  readonly now: ModelCollection;
  readonly #events: Committed[] = [];
  /** Log index → state hash: one state has one hash, whenever it is requested. */
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

  /** Model after that many events. */
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

  /** The last millisecond before the next event, or one after the last event; undefined if two events may share it. */
  byTime(logIndex: number): Moment | undefined {
    const [last, next] = [this.timeOf(logIndex), this.timeOf(logIndex + 1)];
    const timeMs = next === undefined ? last?.toMs : next.fromMs - 1;
    if (timeMs === undefined || (last !== undefined && last.toMs > timeMs)) return undefined;
    const as_of = new Date(timeMs).toISOString();
    return { request: { as_of }, logIndex, agesTo: { fromMs: timeMs, toMs: timeMs } };
  }

  /** The hash first seen for that state: of its receipt, or `seen`. */
  stateHash(logIndex: number, seen: string): string {
    const known = this.#stateHashes.get(logIndex) ?? seen;
    this.#stateHashes.set(logIndex, known);
    return known;
  }
}
