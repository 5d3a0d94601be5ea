/**
 * The shard's part of the quotas of projects. It grants records and bytes to its collections. Before a project counts
 * as full, all shards give back their unused grants.
 */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
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

/** Capacity that a collection may use. */
export interface Grant extends Amount {
  /** False if a shard did not reply, or does not know its use yet: it may have unused capacity. */
  readonly isFinal: boolean;
  /** Quotas of the project. */
  readonly limits: Amount;
}

/**
 * Capacity that a collection must keep. `all`: its whole grant. `unknown`: its whole grant too, since a former owner
 * may still add to its log.
 */
export type Use = Amount | 'all' | 'unknown';

interface GrantedCollection {
  readonly config: CollectionConfig;
  /** Determines the use as far as possible. May take a while. */
  settle(): Promise<void>;
  inUse(): Promise<Use>;
}

/** The shard whose collections have the grants. */
interface GrantingShard {
  readonly name: string;
  collections(): Iterable<GrantedCollection>;
}

const NOTHING: Amount = { records: 0, bytes: 0 };

export class Quota {
  #shard: GrantingShard | undefined;
  /** Collection id → last known reservation. */
  readonly #granted = new Map<number, Amount>();
  /** Project → collection id → shard, in the whole cluster. */
  readonly #owners = new Map<string, Map<number, string>>();
  readonly #projectOf = new Map<number, string>();
  /** Keyed by project. Without it, lowering could take back a fresh grant of a commit. */
  readonly #mutex = new KeyedMutex<string>();

  constructor(
    private readonly reservations: Reservations,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  attach(shard: GrantingShard): void {
    this.#shard = shard;
  }

  ownerKnown(collectionId: number, project: string, shard: string): void {
    this.#projectOf.set(collectionId, project);
    const owners = this.#owners.get(project) ?? new Map<number, string>();
    this.#owners.set(project, owners.set(collectionId, shard));
    // Another owner may have given capacity back.
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
   * Grants `wanted` or more, or less if the project is full. The collection must count `wanted` as in use from before
   * this call until the commit is applied or cancelled.
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

  /** Resolves when every grant and trim that began earlier has ended. */
  async idle(): Promise<void> {
    await this.#mutex.allIdle();
  }

  /**
   * Gives back the unused grants of this shard's collections of the project, except `except`. Throws `unavailable`
   * afterwards if the use of one is not known.
   */
  async trim(project: string, except?: number): Promise<void> {
    // Settle before taking the mutex: a collection may have to be opened to be counted, and other grants would wait.
    const unread = new Set<GrantedCollection>();
    await mapConcurrent([...this.#ofProject(project, except)], COUNTED_AT_ONCE, (collection) =>
      collection.settle().catch(() => void unread.add(collection)),
    );
    let unknown = 0;
    await this.#mutex.run(project, async () => {
      for (const collection of this.#ofProject(project, except)) {
        const { id } = collection.config;
        // Forget the grant before reading the use: a commit that begins after this line asks again, and waits for the mutex.
        this.#granted.delete(id);
        const used = unread.has(collection) ? 'unknown' : await collection.inUse();
        if (used === 'unknown') unknown++;
        else if (used !== 'all') await this.reservations.lower(project, id, used);
      }
    });
    if (unknown > 0) throw unavailable(`the use of ${counted(unknown, 'collection')} is not known yet; retry shortly`);
  }

  /** Yields the project's collections of this shard, as of each step. */
  *#ofProject(project: string, except: number | undefined): Generator<GrantedCollection> {
    for (const collection of this.#shard?.collections() ?? [])
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

  /**
   * Asks all shards of the project to give back, for one of its collections. Returns false if one did not give back all
   * it could.
   */
  async #trimEverywhere(project: string, collectionId: number): Promise<boolean> {
    const shards = new Set(this.#owners.get(project)?.values() ?? []);
    const deadlineMs = this.clock.nowMs() + TRIM_MS;
    const envelope = { requestId: 'trim', deadlineMs };
    const others = [...shards].filter((shard) => shard !== this.#shard?.name);
    const asked = others.map((shard) => ask(this.transport, shardSubject(shard), { op: 'trim', project }, envelope));
    const outcomes = await Promise.allSettled([this.trim(project, collectionId), ...asked]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.logger.info(
          { project, error: messageOf(outcome.reason) },
          'a shard did not give back its unused capacity',
        );
    return outcomes.every(({ status }) => status === 'fulfilled');
  }
}

const holds = (granted: Amount, wanted: Amount): boolean =>
  granted.records >= wanted.records && granted.bytes >= wanted.bytes;
