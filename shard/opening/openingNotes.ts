/**
 * The notes of a shard about the collections that it opens, and those that blocked it. Counts an opening as failed if
 * the note of an ended or silent process names it. See `shared/registry/openings.ts`.
 *
 * One write notes all collections whose openings begin at one moment, and those openings wait for it. The end of an
 * opening is written with the next note, or after `ENDS_WRITTEN_MS`.
 */
import type { Bucket, Change, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { Stall } from '../../shared/process/stalls.js';
import { packCalls } from '../../shared/protocol/wire.js';
import {
  collectionOfKey,
  type OpeningFailure,
  type OpeningsNote,
  openingsKey,
  openingsOf,
  type StoredOpenings,
  shardOfKey,
  storedOpenings,
} from '../../shared/registry/openings.js';
import { heartbeatOf } from '../../shared/registry/owners.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import { SharedRun } from '../../shared/scheduling/sharedRun.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Transport } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import { OpeningFailures } from './openingFailures.js';
import type { OpeningSteps, StepMark } from './openingSteps.js';

export interface OpeningNotesOptions {
  readonly shard: string;
  /** Name of the process, as in the heartbeat. */
  readonly session: string;
  readonly leaseMs: number;
  /** BUCKETS.openings. */
  readonly openings: Bucket;
  /** Note of this shard. */
  readonly note: OpeningsNote;
  /** Steps of suspect openings of this shard. */
  readonly steps: OpeningSteps;
  /** BUCKETS.shards, with the heartbeats. */
  readonly shards: Pick<Bucket, 'get'>;
  /** BUCKETS.owners. */
  readonly owners: Pick<Bucket, 'get'>;
  readonly transport: Pick<Transport, 'request'>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Fate = 'lives' | 'blocked' | 'ended';

/** A collection that blocked the event loop. */
interface Blocked {
  readonly id: number;
  readonly ms: number;
  readonly atMs: number;
  /** Number of its opening; 0 if it was open, and applied a frame. */
  readonly number: number;
  readonly alone: boolean;
}

/** Longest time until the end of an opening is written. */
const ENDS_WRITTEN_MS = 100;
/** Wait for an answer that shows whether a shard lives. It takes milliseconds. */
const ANSWERED_WITHIN_MS = 1_000;
/** Time for which the end of an opening is remembered. A stall is reported sooner after its end. */
const REMEMBERED_MS = 1_000;
const AT_ONCE = 16;

export class OpeningNotes {
  /** Openings in progress here: collection id → number. */
  readonly #mine = new Map<number, number>();
  #alone: number | null = null;
  /** Openings that ended a moment ago, oldest first. */
  readonly #ended = new Map<number, { readonly number: number; readonly alone: boolean; readonly endedMs: number }>();
  #numbers = 0;
  /** Notes of other shards. */
  readonly #notes = new Map<string, StoredOpenings>();
  readonly #failures: OpeningFailures;
  #watch: Watch | undefined;
  /** Notes of this shard's previous process, until they are counted. */
  #left: { readonly note: StoredOpenings | undefined; readonly mark: StepMark | undefined } | undefined;
  readonly #predecessor = new SharedRun(() => this.#countPredecessor());
  readonly #writes = new SharedRun(() => this.#write());
  /** Set until the ends of openings are written. */
  #ends: NodeJS.Timeout | undefined;
  /** Fates of processes without a heartbeat, by session and shard. */
  readonly #fates = new Map<string, Promise<Fate>>();
  readonly #changes = new KeyedMutex<string>();
  #blocked: Blocked[] = [];

  /** `onChange`: called when the failures of a collection have changed. */
  constructor(
    private readonly options: OpeningNotesOptions,
    onChange: (collectionId: number) => void,
  ) {
    this.#failures = new OpeningFailures(options, onChange);
  }

  /** Resolves when all failures are known. */
  async start(): Promise<void> {
    const { openings, note, steps } = this.options;
    this.#watch = await openings.watch((change) => this.#changed(change));
    this.#left = { note: await note.read(), mark: await steps.left() };
    // The caller of `isSuspect` receives the error.
    this.#predecessor.next().catch(() => undefined);
  }

  /** Ends, and leaves no note behind. */
  async stop(): Promise<void> {
    clearTimeout(this.#ends);
    this.#watch?.stop();
    this.#mine.clear();
    await this.#writes.next().catch((error: unknown) => this.#warn('the end of an opening could not be noted', error));
    await this.options.steps.close();
  }

  /**
   * Why the collection must not be opened; undefined if it may be. The reason names no project, collection or shard.
   */
  quarantineOf(collectionId: number): string | undefined {
    return this.#failures.quarantineOf(collectionId);
  }

  /**
   * Whether the collection must be opened alone. First counts its failures that dead processes left. Throws
   * `unavailable`.
   */
  async isSuspect(collectionId: number): Promise<boolean> {
    await this.#counted();
    for (const [shard, note] of this.#notes) {
      if (note.openings[collectionId] === undefined) continue;
      const fate = await this.#fateOf(shard, note.session);
      if (fate === 'lives') continue;
      await this.#failures.add(collectionId, failureIn(shard, note, { collectionId, how: fate }, this.options.clock));
      await this.#strike(shard, note.session, collectionId);
    }
    return this.#failures.has(collectionId);
  }

  /** Resolves when the opening is noted. Throws `unavailable`. */
  async begin(collectionId: number, { alone }: { alone: boolean }): Promise<void> {
    this.#mine.set(collectionId, ++this.#numbers);
    if (alone) this.#alone = collectionId;
    await this.#writes.next();
    if (alone) this.options.steps.beginOpening(collectionId, this.#mine.get(collectionId) ?? 0);
  }

  step(collectionId: number, kind: string, number: number): void {
    if (collectionId === this.#alone) this.options.steps.step(kind, number);
  }

  end(collectionId: number): void {
    const endedMs = this.options.clock.monotonicMs();
    for (const [id, ended] of this.#ended) {
      if (endedMs - ended.endedMs < REMEMBERED_MS) break;
      this.#ended.delete(id);
    }
    const number = this.#mine.get(collectionId) ?? 0;
    this.#ended.delete(collectionId);
    this.#ended.set(collectionId, { number, alone: this.#alone === collectionId, endedMs });
    this.#mine.delete(collectionId);
    if (this.#alone === collectionId) {
      this.#alone = null;
      this.options.steps.endOpening();
    }
    this.#ends ??= setTimeout(() => {
      this.#ends = undefined;
      // A later note will have it.
      this.#writes.next().catch((error: unknown) => this.#warn('the end of an opening could not be noted', error));
    }, ENDS_WRITTEN_MS).unref();
  }

  /** Removes the failures of a collection that was opened without the loss of a lease. */
  opened(collectionId: number): Promise<void> {
    return this.#failures.forget(collectionId);
  }

  /** Remembers which collection caused a stall of this process. */
  stalled({ thread, cause, works: [work], ms }: Stall): void {
    const { leaseMs, clock } = this.options;
    const id = work?.subject?.id;
    if (thread !== 'loop' || cause !== 'work' || id === undefined || ms < leaseMs / 4) return;
    const atMs = clock.monotonicMs();
    const ended = this.#ended.get(id);
    // The opening may have ended in the turn that stalled.
    const isEnded = ended !== undefined && atMs - ended.endedMs < REMEMBERED_MS;
    const number = this.#mine.get(id) ?? (isEnded ? ended.number : 0);
    if (number === 0 && work?.op !== 'commit' && work?.op !== 'replay') return;
    this.#blocked.push({ id, ms, atMs, number, alone: this.#alone === id || (isEnded && ended.alone) });
  }

  /**
   * Call it when the lease had expired and is valid again. Counts each collection that blocked the event loop since.
   * Removes failures that other shards wrongly counted as `blocked` by this process.
   */
  async leaseRegained(): Promise<void> {
    const { session, shard, leaseMs, clock } = this.options;
    const sinceMs = clock.monotonicMs() - 3 * leaseMs;
    const recent = this.#blocked.filter(({ atMs }) => atMs >= sinceMs);
    this.#blocked = [];
    const blamed = new Map<string, Blocked>();
    for (const blocked of recent) {
      const opening = `${session}.${blocked.number}`;
      const before = blamed.get(`${opening} ${blocked.id}`);
      blamed.set(`${opening} ${blocked.id}`, { ...blocked, ms: blocked.ms + (before?.ms ?? 0) });
    }
    const guilty = [...blamed.values()].filter(({ ms }) => ms >= leaseMs / 2);
    for (const { id, number, alone } of guilty) {
      const how = number === 0 ? 'blocked' : 'stalled';
      await this.#failures.add(id, { opening: `${session}.${number}`, shard, how, alone, at_ms: clock.nowMs() });
    }
    const isWrong = ({ opening, how }: OpeningFailure): boolean => how === 'blocked' && isOpeningOf(opening, session);
    await this.#failures.withdraw(
      isWrong,
      guilty.map(({ id }) => id),
    );
  }

  #changed({ key, entry }: Change): void {
    const shard = shardOfKey(key);
    if (shard === undefined) {
      this.#failures.changed(collectionOfKey(key), entry);
    } else if (shard !== this.options.shard) {
      if (entry === undefined) this.#notes.delete(shard);
      else this.#notes.set(shard, openingsOf(entry));
    }
  }

  /**
   * Counts as `ended` the openings that this shard's previous process left: it has stopped, or has lost its lease.
   * Removes failures that other shards counted as `blocked` while the process was between two steps.
   */
  async #countPredecessor(): Promise<void> {
    if (this.#left === undefined) return;
    const { shard, session, note, clock } = this.options;
    const { note: before, mark } = this.#left;
    if (mark !== undefined) await this.#countMark(mark);
    if (before !== undefined && before.session !== session) {
      await mapConcurrent(Object.keys(before.openings).map(Number), AT_ONCE, (id) =>
        this.#failures.add(id, failureIn(shard, before, { collectionId: id, how: 'ended' }, clock)),
      );
      await note.write(undefined);
    }
    this.#left = undefined;
  }

  async #countMark({ session, at }: StepMark): Promise<void> {
    const { shard, clock, steps } = this.options;
    const ended = `${session}.${at?.number}`;
    if (at !== null) {
      const failure = {
        opening: ended,
        shard,
        how: 'ended',
        alone: true,
        step: at.step,
        at_ms: clock.nowMs(),
      } as const;
      await this.#failures.add(at.collection, failure);
    }
    await this.#failures.withdraw(
      ({ opening, how, alone }) => how === 'blocked' && alone && isOpeningOf(opening, session) && opening !== ended,
    );
    steps.counted();
  }

  /** Resolves when the openings that the previous process left are counted. */
  async #counted(): Promise<void> {
    if (this.#left !== undefined) await this.#predecessor.next();
  }

  async #write(): Promise<void> {
    const { note, session } = this.options;
    clearTimeout(this.#ends);
    this.#ends = undefined;
    await this.#counted();
    const openings = { session, openings: Object.fromEntries(this.#mine), alone: this.#alone };
    await note.write(this.#mine.size === 0 ? undefined : openings);
  }

  /** Returns whether a process that has noted an opening still lives. */
  async #fateOf(shard: string, session: string): Promise<Fate> {
    const heartbeat = await this.options.shards.get(shard);
    if (heartbeat !== undefined) return heartbeatOf(heartbeat).session === session ? 'lives' : 'ended';
    const key = `${session} ${shard}`;
    let fate = this.#fates.get(key);
    if (fate === undefined) {
      fate = this.#askFate(shard).then((found) => {
        if (found === 'lives') this.#fates.delete(key);
        return found;
      });
      this.#fates.set(key, fate);
    }
    return fate;
  }

  /** Asks a shard without a heartbeat. It answers if its event loop runs, even if only that it has no lease. */
  async #askFate(shard: string): Promise<Fate> {
    const { transport, clock } = this.options;
    const envelope = { requestId: 'opening', deadlineMs: clock.nowMs() + ANSWERED_WITHIN_MS };
    try {
      await transport.request(shardSubject(shard), packCalls([{ ...envelope, call: { op: 'status' } }]), envelope);
      return 'lives';
    } catch (error) {
      return error instanceof NotServed ? 'ended' : 'blocked';
    }
  }

  /** Removes an opening that was counted from the note of another process. */
  #strike(shard: string, session: string, collectionId: number): Promise<void> {
    const { openings } = this.options;
    const key = openingsKey(shard);
    return this.#changes.run(key, async () => {
      for (;;) {
        const entry = await openings.get(key);
        const note = entry && openingsOf(entry);
        if (entry === undefined || note?.session !== session || note.openings[collectionId] === undefined) return;
        const { [String(collectionId)]: _, ...rest } = note.openings;
        const isDone =
          Object.keys(rest).length === 0
            ? await openings.delete(key, entry.revision)
            : (await openings.update(key, storedOpenings({ ...note, openings: rest }), entry.revision)) !== undefined;
        if (isDone) return;
      }
    });
  }

  #warn(what: string, error: unknown): void {
    this.options.logger.warn({ error: messageOf(error) }, what);
  }
}

const isOpeningOf = (opening: string, session: string): boolean =>
  opening.startsWith(`${session}.`) && opening !== `${session}.0`;

const failureIn = (
  shard: string,
  note: StoredOpenings,
  { collectionId, how }: { readonly collectionId: number; readonly how: OpeningFailure['how'] },
  clock: Clock,
): OpeningFailure => {
  const opening = `${note.session}.${note.openings[collectionId]}`;
  return { opening, shard, how, alone: note.alone === collectionId, at_ms: clock.nowMs() };
};
