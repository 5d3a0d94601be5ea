/**
 * Asks shards directly, like a coordinator that has missed every change of owners. It uses the subjects of the present
 * and earlier epochs, and followers; one follower gets strong searches too, with more patience. A former owner that
 * slept through the change must answer coordinators and followers that it is no longer the owner. A follower must
 * answer that it is too old, or nothing. A coordinator would not notice a wrong answer, because it asks another shard
 * and drops late answers. These answers join the history of all reads.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import { silentLogger } from '../../../shared/logger.js';
import type { NatsLogin } from '../../../shared/nats/natsLogin.js';
import { type ClusterPlatform, openCluster } from '../../../shared/platform/natsPlatform.js';
import { packCalls, type Outcome as ShardOutcome, unpackOutcomes } from '../../../shared/protocol/wire.js';
import { collectionSubject, followerSubject, followersSubject } from '../../../shared/transport/subjects.js';
import type { Known } from '../clients/known.js';
import type { Recorder } from '../clients/recorder.js';
import type { Outcome } from '../history/asked.js';
import type { Call } from '../history.js';
import type { SeededRandom } from '../random.js';
import type { LogOf } from '../readLogs.js';
import { Epochs } from './epochs.js';
import { anyQuestion, type Question } from './questions.js';

/** Longer than any shard is frozen: after waking it finds requests that were sent while it slept. */
const DEADLINE_MS = 15_000;
const EVERY_MS = 20;
const UNDER_WAY_MAX = 2_000;

export interface OutdatedReaderOptions {
  /** Addresses of the NATS servers, past the proxies. */
  readonly natsUrl: string;
  readonly login: NatsLogin;
  readonly replicas: number;
  readonly collections: readonly LogOf[];
  readonly known: ReadonlyMap<string, Known>;
  readonly recorder: Recorder;
  readonly random: SeededRandom;
  readonly hasFollowers: boolean;
  /** Milliseconds between two questions. */
  readonly everyMs?: number;
  /** Awaited before each question; undefined: never rests. */
  readonly restOver?: () => Promise<void> | undefined;
}

/** Number of answers, and of refusals because the shard does not serve the collection. */
export interface OutdatedReads {
  readonly answered: number;
  readonly turnedAway: number;
  /** Strong searches that a follower has answered. */
  readonly strongByFollowers: number;
}

export class OutdatedReader {
  readonly #epochs = new Epochs();
  readonly #underWay = new Set<Promise<void>>();
  #answered = 0;
  #turnedAway = 0;
  #strongByFollowers = 0;
  #running = true;
  #loop: Promise<void> | undefined;

  private constructor(
    private readonly platform: ClusterPlatform,
    private readonly options: OutdatedReaderOptions,
  ) {}

  static async open(options: OutdatedReaderOptions): Promise<OutdatedReader> {
    const { natsUrl: url, login, replicas } = options;
    const platform = await openCluster({
      ...{ url, ...login, role: 'coordinator', replicas, logStreams: 4 },
      name: 'vouch-soak-outdated',
      logger: silentLogger,
    });
    const reader = new OutdatedReader(platform, options);
    await reader.#epochs.start(await platform.bucket(BUCKETS.owners));
    return reader;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Unanswered questions stay unanswered. */
  async stop(): Promise<OutdatedReads> {
    this.#running = false;
    await this.#loop;
    this.#epochs.stop();
    await this.platform.close();
    await Promise.all(this.#underWay);
    return {
      answered: this.#answered,
      turnedAway: this.#turnedAway,
      strongByFollowers: this.#strongByFollowers,
    };
  }

  async #run(): Promise<void> {
    const { random, collections, known, hasFollowers, everyMs = EVERY_MS, restOver } = this.options;
    while (this.#running) {
      if (restOver !== undefined) await restOver();
      const { name, id } = random.pick(collections);
      const epochs = this.#epochs.of(id);
      if (epochs.length > 0 && this.#underWay.size < UNDER_WAY_MAX) {
        const question = anyQuestion(random, name, known.get(name) as Known, hasFollowers);
        const asking = this.#ask(question, id, random.pick(epochs)).finally(() => this.#underWay.delete(asking));
        this.#underWay.add(asking);
      }
      await wait(everyMs);
    }
  }

  async #ask({ wanted, whom, call, answer }: Question, collectionId: number, epoch: number): Promise<void> {
    const startMs = systemClock.monotonicMs();
    const envelope = { requestId: 'outdated', deadlineMs: systemClock.nowMs() + DEADLINE_MS };
    const followers = this.#epochs.followersOf(collectionId);
    if (whom === 'one follower' && followers.length === 0) return;
    const follower = followers.length === 0 ? '' : this.options.random.pick(followers);
    const subject = {
      owner: collectionSubject(collectionId, epoch, 'read'),
      'any follower': followersSubject(collectionId),
      'one follower': followerSubject(collectionId, follower),
    }[whom];
    let answered: ShardOutcome | undefined;
    try {
      const bytes = await this.platform.transport.request(subject, packCalls([{ ...envelope, call }]), envelope);
      [answered] = unpackOutcomes(bytes);
    } catch (error) {
      if (!(error instanceof VouchError)) throw error;
    }
    const outcome = outcomeOf(answered, answer);
    if (outcome.kind === 'unknown') {
      this.#turnedAway++;
      return;
    }
    this.#answered++;
    if (whom === 'one follower') this.#strongByFollowers++;
    const endMs = systemClock.monotonicMs();
    const via = { owner: `the shard of epoch ${epoch}`, 'any follower': 'a follower', 'one follower': follower }[whom];
    this.options.recorder.add({ ...wanted, client: 0, via, startMs, endMs, outcome } as Call);
  }
}

function outcomeOf(answered: ShardOutcome | undefined, answer: Question['answer']): Outcome<unknown> {
  if (answered === undefined || 'moved' in answered) return { kind: 'unknown', why: 'not the owner' };
  if ('ok' in answered) return { kind: 'ok', answer: answer(answered.ok) };
  if (answered.code === 'record_not_found') return { kind: 'absent' };
  if (answered.code === 'unavailable') return { kind: 'unknown', why: answered.message };
  return { kind: 'refused', why: `${answered.code}: ${answered.message}` };
}
