/**
 * The note of a shard about the openings in progress. An opening in the note of a process that has ended, or no longer answers,
 * counts as failed. So does one that blocked this process for long. See `shared/registry/openings.ts`.
 *
 * Openings that begin at one moment are noted in one write, and wait for it. The end of an opening is written with the next
 * note, or after `ENDS_WRITTEN_MS`.
 */
import type { Bucket, Change, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { type Stall, untilStallsReported } from '../../shared/process/stalls.js';
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
import type { OpeningSteps, StepNote } from './openingSteps.js';

export interface OpeningNotesOptions {
  readonly shard: string;
  /** Id of the process, as in its heartbeat. */
  readonly session: string;
  readonly leaseMs: number;
  /** BUCKETS.openings. */
  readonly openings: Bucket;
  /** This shard's note. */
  readonly note: OpeningsNote;
  /** Steps of this shard's openings of suspect collections. */
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

/** State of a process that has noted an opening. `blocked`: it does not answer. */
type Fate = 'lives' | 'blocked' | 'ended';

/** A stall of the event loop by work of a collection. */
interface Blocked {
  readonly id: number;
  readonly ms: number;
  readonly atMs: number;
  /** Number of the opening that stalled; 0 for another work of the collection: it applied a frame. */
  readonly number: number;
  readonly alone: boolean;
}

/** Longest time until the end of an opening is written. */
const ENDS_WRITTEN_MS = 100;
/** Longest wait for the answer of a shard. A live one answers in milliseconds. */
const ANSWERED_WITHIN_MS = 1_000;
/** Time for which an ended opening is remembered. A stall is reported within this time of its end. */
const REMEMBERED_MS = 1_000;
const AT_ONCE = 16;

export class OpeningNotes {
  /** Openings in progress here: collection id → number of the opening. */
  readonly #mine = new Map<number, number>();
  /** Suspect collection that is being opened here. */
  #alone: number | null = null;
  /** Openings that ended within REMEMBERED_MS, oldest first, by collection id. */
  readonly #ended = new Map<number, { readonly number: number; readonly alone: boolean; readonly endedMs: number }>();
  /** Number of the last opening. */
  #numbers = 0;
  /** Notes of other shards, by shard. */
  readonly #notes = new Map<string, StoredOpenings>();
  readonly #failures: OpeningFailures;
  #watch: Watch | undefined;
  /** Notes that this shard's previous process has left, until their openings are counted. */
  #left: { readonly note: StoredOpenings | undefined; readonly step: StepNote | undefined } | undefined;
  readonly #predecessor = new SharedRun(() => this.#countPredecessor());
  readonly #writes = new SharedRun(() => this.#write());
  /** Timer until the ends of openings are written. */
  #ends: NodeJS.Timeout | undefined;
  /** States of processes without a heartbeat, by session and shard. */
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

  /** Resolves when the failures of all collections have been received. */
  async start(): Promise<void> {
    const { openings, note, steps } = this.options;
    this.#watch = await openings.watch((change) => this.#changed(change));
    this.#left = { note: await note.read(), step: await steps.left() };
    // The caller of `isSuspect` receives the error.
    this.#predecessor.next().catch(() => undefined);
  }

  /** Ends, and removes the note. */
  async stop(): Promise<void> {
    clearTimeout(this.#ends);
    this.#watch?.stop();
    this.#mine.clear();
    await this.#writes.next().catch((error: unknown) => this.#warn('the end of an opening could not be noted', error));
    await this.options.steps.close();
  }

  /** Reason for which the collection must not be opened; undefined if it may be. Names no project, collection or shard. */
  quarantineOf(collectionId: number): string | undefined {
    return this.#failures.quarantineOf(collectionId);
  }

  /**
   * Whether the collection must be opened alone, because an opening of it has failed. First counts the openings in the notes of
   * processes that have ended or no longer answer. Throws `unavailable`.
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

  /** Notes the beginning of an opening. Throws `unavailable`. */
  async begin(collectionId: number, { alone }: { alone: boolean }): Promise<void> {
    this.#mine.set(collectionId, ++this.#numbers);
    if (alone) this.#alone = collectionId;
    await this.#writes.next();
    if (alone) this.options.steps.beginOpening(collectionId, this.#mine.get(collectionId) ?? 0);
  }

  /** Notes the step that an opening begins or resumes, if the collection is suspect. */
  step(collectionId: number, kind: string, number: number): void {
    if (collectionId === this.#alone) this.options.steps.step(kind, number);
  }

  /** Notes the end of an opening. */
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
      // After a failure the end is written with a later note.
      this.#writes.next().catch((error: unknown) => this.#warn('the end of an opening could not be noted', error));
    }, ENDS_WRITTEN_MS).unref();
  }

  /** Removes the failures of a suspect collection, which was opened without the loss of the lease. */
  opened(collectionId: number): Promise<void> {
    return this.#failures.forget(collectionId);
  }

  /** Remembers a stall of the event loop that work of a collection has caused. */
  stalled({ thread, cause, works: [work], ms }: Stall): void {
    const { leaseMs, clock } = this.options;
    const id = work?.subject?.id;
    if (thread !== 'loop' || cause !== 'work' || id === undefined || ms < leaseMs / 4) return;
    const atMs = clock.monotonicMs();
    const ended = this.#ended.get(id);
    // The opening may have ended in the very turn that stalled.
    const isEnded = ended !== undefined && atMs - ended.endedMs < REMEMBERED_MS;
    const number = this.#mine.get(id) ?? (isEnded ? ended.number : 0);
    if (number === 0 && work?.op !== 'commit' && work?.op !== 'replay') return;
    this.#blocked.push({ id, ms, atMs, number, alone: this.#alone === id || (isEnded && ended.alone) });
  }

  /**
   * Counts a failure of each collection that blocked the event loop before the lease was lost. Removes failures `blocked` that
   * other shards have counted wrongly for this process. Call it when the lease had expired and is valid again.
   */
  async leaseRegained(): Promise<void> {
    const { session, shard, leaseMs, clock } = this.options;
    // A bucket in memory stores a heartbeat at once, perhaps before the stall that delayed it is reported.
    await untilStallsReported();
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
    const collectionId = collectionOfKey(key);
    if (collectionId !== undefined) this.#failures.changed(collectionId, entry);
    else if (shard !== undefined && shard !== this.options.shard) {
      if (entry === undefined) this.#notes.delete(shard);
      else this.#notes.set(shard, openingsOf(entry));
    }
  }

  /**
   * Counts as `ended` the openings in the note of this shard's previous process: it has stopped, or has lost its lease. Removes
   * failures `blocked` that other shards counted while that process was between two steps.
   */
  async #countPredecessor(): Promise<void> {
    if (this.#left === undefined) return;
    const { shard, session, note, clock } = this.options;
    const { note: before, step } = this.#left;
    if (step !== undefined) await this.#countStep(step);
    if (before !== undefined && before.session !== session) {
      await mapConcurrent(Object.keys(before.openings).map(Number), AT_ONCE, (id) =>
        this.#failures.add(id, failureIn(shard, before, { collectionId: id, how: 'ended' }, clock)),
      );
      await note.write(undefined);
    }
    this.#left = undefined;
  }

  /** Counts the opening whose step ended the previous process. */
  async #countStep({ session, at }: StepNote): Promise<void> {
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

  /** Returns the state of a process that has noted an opening. */
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

  /** Asks a shard without a heartbeat. If its event loop runs it answers, even if only with the error that it has no lease. */
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

  /** Removes a counted opening from the note of another process. */
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
