/**
 * Finds for every event of a log the calls that may have caused it, and compares the event with them. An answered write
 * is in the log exactly once and as answered, an unknown one at most once, a refused one not at all.
 */

import type { ShredCall } from '../history/secrets.js';
import type { WriteCall } from '../history.js';
import type { Maker, Violate } from './candidates.js';
import { type CollectionLog, describeEvent, type LoggedEvent } from './log.js';
import { type MarkedCall, MarkedWrites } from './markedWrites.js';
import { isUnmarked, UnmarkedWrites } from './unmarkedWrites.js';
import type { Violations } from './violations.js';

/** Times by sequence; index 0 is the genesis, before everything. */
export interface Moments {
  /** Earliest possible time: the start of the call that caused the event. */
  readonly beganMs: Float64Array;
  /** Time of the answer; infinite without one. */
  readonly answeredMs: Float64Array;
  /** One of the calls that may have caused it. */
  readonly calls: readonly (Maker | undefined)[];
}

const NEVER = Number.POSITIVE_INFINITY;
/** Largest difference between the clock of the calls and that of the service, on one machine. */
const CLOCKS_MS = 100;
const hadNoEffect = ({ outcome: { kind } }: Maker): boolean => kind !== 'ok' && kind !== 'unknown';

export class WriteMatch {
  readonly #marked: MarkedWrites;
  readonly #unmarked: UnmarkedWrites;
  readonly #violate: Violate;
  readonly #moments: { beganMs: Float64Array; answeredMs: Float64Array; calls: (Maker | undefined)[] };

  /** `shreds`: all shreds, of any key. */
  constructor(
    private readonly log: CollectionLog,
    private readonly calls: readonly WriteCall[],
    shreds: readonly ShredCall[],
    violations: Violations,
  ) {
    const size = log.entries.length + 1;
    const answeredMs = new Float64Array(size).fill(NEVER);
    this.#moments = { beganMs: new Float64Array(size).fill(-NEVER), answeredMs, calls: new Array(size) };
    this.#violate = (kind, what, ...involved) => violations.add(kind, log.collection, what, ...involved);
    this.#marked = new MarkedWrites(log, this.#violate);
    this.#unmarked = new UnmarkedWrites(log, this.#violate);
    for (const call of calls) {
      if (isMarked(call)) this.#marked.add(call);
      else this.#unmarked.add(call);
    }
    for (const shred of shreds) this.#unmarked.addShred(shred);
  }

  /** `unixMs`: unix time of moment 0 of the calls; undefined: the service has other clocks. */
  check(unixMs?: number): Moments {
    for (const [i, { event, timeMs }] of this.log.entries.entries()) {
      this.#matchEvent(event, i + 1);
      if (event.type === 'expire' && unixMs !== undefined) this.#happensAt(i + 1, Number(timeMs) - unixMs);
    }
    for (const call of this.calls) {
      if (isMarked(call)) this.#marked.checkAnswered(call);
      else this.#unmarked.checkAnswered(call);
    }
    this.#marked.check();
    return this.#moments;
  }

  /** The removal of an expired record shows in no answer before its time, and in every later one. */
  #happensAt(sequence: number, atMs: number): void {
    this.#moments.beganMs[sequence] = atMs - CLOCKS_MS;
    this.#moments.answeredMs[sequence] = atMs + CLOCKS_MS;
  }

  #matchEvent(event: LoggedEvent, sequence: number): void {
    // A creation, which is not in the history, or the service has caused it.
    if (event.type === 'auditReads' || event.type === 'expire') return;
    const candidates = isUnmarked(event)
      ? this.#unmarked.match(event, sequence)
      : this.#marked.match('metadata' in event ? event.metadata.mark : event.mark, event, sequence);
    if (candidates === undefined) return;
    const possible = candidates.filter((call) => !hadNoEffect(call));
    if (possible.length === 0) {
      const kind = candidates.length === 0 ? 'event without a call' : 'refused write in the log';
      this.#violate(kind, `event ${sequence} is ${describeEvent(event)}`, ...candidates);
      return;
    }
    const { beganMs, answeredMs, calls } = this.#moments;
    // If an answer says that its call created the record, that call is the cause; otherwise any of the calls may be.
    const maker = possible.find(
      ({ op, outcome }) => op === 'insert' && outcome.kind === 'ok' && !outcome.answer.deduplicated,
    );
    beganMs[sequence] = maker?.startMs ?? Math.min(...possible.map(({ startMs }) => startMs));
    const answered = possible.filter(({ outcome }) => outcome.kind === 'ok');
    answeredMs[sequence] = Math.min(NEVER, ...answered.map(({ endMs }) => endMs));
    calls[sequence] = answered[0] ?? possible[0];
  }
}

const MARKED: readonly string[] = [
  'insert',
  'insertBatch',
  'updateMetadata',
  'mergeMetadata',
  'mergeMany',
  'insertEncrypted',
] satisfies MarkedCall['op'][];

const isMarked = (call: WriteCall): call is MarkedCall => MARKED.includes(call.op);
