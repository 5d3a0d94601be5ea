/**
 * The shard's part of the quotas of projects. It grants records and bytes to its collections; before a project counts as full,
 * it asks all shards to give back what they do not use.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { Amount } from '../../shared/model/quotas.js';
import { ask } from '../../shared/protocol/wire.js';
import type { Reservations } from '../../shared/registry/reservations.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Transport } from '../../shared/transport/transport.js';

const TRIM_MS = 1_000;
const COUNTED_AT_ONCE = 16;

/** What the collection may hold. */
export interface Grant extends Amount {
  /** False if a shard did not reply, or cannot know yet what it needs: it may have unused capacity. */
  readonly isFinal: boolean;
  /** The quotas of the project. */
  readonly limits: Amount;
}

/** What a collection must keep. All that it was granted; unknown: as much, while an owner before may add to its log. */
export type Use = Amount | 'all' | 'unknown';

interface HeldCollection {
  readonly config: CollectionConfig;
  /** Finds out what may be found out. May take a while. */
  settle(): Promise<void>;
  inUse(): Promise<Use>;
}

/** The shard whose collections hold capacity. */
interface Holder {
  readonly name: string;
  collections(): Iterable<HeldCollection>;
}

const NOTHING: Amount = { records: 0, bytes: 0 };

export class Quota {
  #holder: Holder | undefined;
  /** Collection id → what is reserved for it, as last known. */
  readonly #granted = new Map<number, Amount>();
  /** Project → collection id → shard, of the whole cluster. */
  readonly #owners = new Map<string, Map<number, string>>();
  readonly #projectOf = new Map<number, string>();
  /** Keyed by project. Without it, lowering could take back what a commit was just granted. */
  readonly #mutex = new KeyedMutex<string>();

  constructor(
    private readonly reservations: Reservations,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  attach(holder: Holder): void {
    this.#holder = holder;
  }

  ownerKnown(collectionId: number, project: string, shard: string): void {
    this.#projectOf.set(collectionId, project);
    const owners = this.#owners.get(project) ?? new Map<number, string>();
    this.#owners.set(project, owners.set(collectionId, shard));
    // Another owner may have given capacity back meanwhile.
    this.#granted.delete(collectionId);
  }

  ownerGone(collectionId: number): void {
    this.#granted.delete(collectionId);
    const project = this.#projectOf.get(collectionId);
    if (project === undefined) return;
    this.#projectOf.delete(collectionId);
    this.#owners.get(project)?.delete(collectionId);
  }

  /**
   * Grants `wanted` or more, or less if the project is full. The collection must count `wanted` as in use from before this
   * call until the commit is applied or given up.
   */
  async grant(project: string, collectionId: number, wanted: Amount): Promise<Grant> {
    const limits = this.reservations.limitsOf(project);
    const known = this.#granted.get(collectionId) ?? NOTHING;
    if (holds(known, wanted)) return { ...known, isFinal: true, limits };
    const granted = await this.#raise(project, collectionId, wanted);
    if (holds(granted, wanted)) return { ...granted, isFinal: true, limits };
    const isFinal = await this.#trimEverywhere(project, collectionId);
    return { ...(await this.#raise(project, collectionId, wanted)), isFinal, limits };
  }

  /** Resolves when every grant and trim begun before has ended. */
  async idle(): Promise<void> {
    await this.#mutex.allIdle();
  }

  /**
   * Gives back what this shard's collections of the project, but for `except`, do not use. Throws `unavailable` when that is done,
   * where it is not known of one.
   */
  async trim(project: string, except?: number): Promise<void> {
    // Before the mutex is taken: a collection may have to be opened to be counted, and the grants of others would wait.
    const unread = new Set<HeldCollection>();
    await mapConcurrent([...this.#held(project, except)], COUNTED_AT_ONCE, (collection) =>
      collection.settle().catch(() => void unread.add(collection)),
    );
    let unknown = 0;
    await this.#mutex.run(project, async () => {
      for (const collection of this.#held(project, except)) {
        const { id } = collection.config;
        // Before the use is read: a commit that begins after this line asks anew, and waits for the mutex.
        this.#granted.delete(id);
        const used = unread.has(collection) ? 'unknown' : await collection.inUse();
        if (used === 'unknown') unknown++;
        else if (used !== 'all') await this.reservations.lower(project, id, used);
      }
    });
    if (unknown > 0) throw unavailable(`of ${unknown} collections it is not known yet what they hold`);
  }

  /** The project's collections of this shard, those of the moment at each step. */
  *#held(project: string, except: number | undefined): Generator<HeldCollection> {
    for (const collection of this.#holder?.collections() ?? [])
      if (collection.config.project === project && collection.config.id !== except) yield collection;
  }

  #raise(project: string, collectionId: number, wanted: Amount): Promise<Amount> {
    return this.#mutex.run(project, async () => {
      const known = this.#granted.get(collectionId) ?? NOTHING;
      const raised = (kind: keyof Amount): Promise<number> | number =>
        known[kind] >= wanted[kind] ? known[kind] : this.reservations.raise(kind, project, collectionId, wanted[kind]);
      const [records, bytes] = await Promise.all([raised('records'), raised('bytes')]);
      this.#granted.set(collectionId, { records, bytes });
      return { records, bytes };
    });
  }

  /** Asks all shards of the project, for one of its collections; false if one did not give back all that it could. */
  async #trimEverywhere(project: string, collectionId: number): Promise<boolean> {
    const shards = new Set(this.#owners.get(project)?.values() ?? []);
    const deadlineMs = this.clock.nowMs() + TRIM_MS;
    const envelope = { requestId: 'trim', deadlineMs };
    const others = [...shards].filter((shard) => shard !== this.#holder?.name);
    const asked = others.map((shard) => ask(this.transport, shardSubject(shard), { op: 'trim', project }, envelope));
    const outcomes = await Promise.allSettled([this.trim(project, collectionId), ...asked]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.logger.info({ project, error: messageOf(outcome.reason) }, 'a shard gave no unused capacity back');
    return outcomes.every(({ status }) => status === 'fulfilled');
  }
}

const holds = (granted: Amount, wanted: Amount): boolean =>
  granted.records >= wanted.records && granted.bytes >= wanted.bytes;
