/**
 * The shard's side of the project capacities: grants records to its collections, and asks everybody to give back what
 * they do not use before it lets one say that the project is full.
 */
import type { Clock } from '../shared/clock.js';
import { messageOf } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import type { Reservations } from '../shared/reservations.js';
import { shardSubject } from '../shared/subjects.js';
import type { Transport } from '../shared/transport/transport.js';
import { type Outcome, packCalls, unpackOutcomes, unwrap } from '../shared/wire.js';
import type { HostedCollection } from './hostedCollection.js';

const TRIM_MS = 1_000;

export interface Grant {
  /** How many records the collection may hold. */
  readonly records: number;
  /** False where a shard could not be asked for what it does not use: then there may be more room. */
  readonly isFinal: boolean;
}

/** The shard's collections, opened or not. */
interface Holder {
  readonly name: string;
  collections(): Iterable<HostedCollection>;
}

export class Quota {
  #holder: Holder | undefined;
  /** Collection id → what is reserved for it, as last heard. */
  readonly #granted = new Map<number, number>();
  /** Project → collection id → shard, over the whole cluster. */
  readonly #owners = new Map<string, Map<number, string>>();
  readonly #projectOf = new Map<number, string>();
  #turn: Promise<void> = Promise.resolve();

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
    let owners = this.#owners.get(project);
    if (owners === undefined) {
      owners = new Map();
      this.#owners.set(project, owners);
    }
    owners.set(collectionId, shard);
    // Whoever had it meanwhile may have given some back.
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
   * Lets the collection hold `wanted` records or more, or fewer where the project is full. The collection counts
   * `wanted` as in use from before this call until the commit is applied or given up.
   */
  async grant(project: string, collectionId: number, wanted: number): Promise<Grant> {
    const known = this.#granted.get(collectionId) ?? 0;
    if (known >= wanted) return { records: known, isFinal: true };
    const granted = await this.#raise(project, collectionId, wanted);
    if (granted >= wanted) return { records: granted, isFinal: true };
    const isFinal = await this.#trimEverywhere(project);
    return { records: await this.#raise(project, collectionId, wanted), isFinal };
  }

  /** Resolves when nothing that was begun before is still being given back or reserved. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  /** Gives back what this shard's collections of the project do not use. */
  trim(project: string): Promise<void> {
    return this.#exclusively(async () => {
      for (const collection of this.#holder?.collections() ?? []) {
        const { id } = collection.config;
        if (collection.config.project !== project) continue;
        // Forgotten before the use is read: a commit that starts after this line waits for its turn and asks anew.
        this.#granted.delete(id);
        await this.reservations.lower(project, id, await collection.inUse());
      }
    });
  }

  #raise(project: string, collectionId: number, wanted: number): Promise<number> {
    return this.#exclusively(async () => {
      const granted = await this.reservations.raise(project, collectionId, wanted);
      this.#granted.set(collectionId, granted);
      return granted;
    });
  }

  /** Raising and lowering take turns, or a lowering could take back what a commit has just been granted. */
  #exclusively<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(run);
    this.#turn = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** False where not everybody could be asked. */
  async #trimEverywhere(project: string): Promise<boolean> {
    const shards = new Set(this.#owners.get(project)?.values() ?? []);
    const deadlineMs = this.clock.nowMs() + TRIM_MS;
    const envelope = { requestId: 'trim', deadlineMs };
    const others = [...shards].filter((shard) => shard !== this.#holder?.name);
    const body = packCalls([{ ...envelope, call: { op: 'trim', project } }]);
    const asked = others.map(async (shard) => {
      const answer = await this.transport.request(shardSubject(shard), body, envelope);
      unwrap(unpackOutcomes(answer)[0] as Outcome);
    });
    const outcomes = await Promise.allSettled([this.trim(project), ...asked]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.logger.info({ project, error: messageOf(outcome.reason) }, 'a shard gave no unused capacity back');
    return outcomes.every(({ status }) => status === 'fulfilled');
  }
}
