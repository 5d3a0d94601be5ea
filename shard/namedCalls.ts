/** What is asked of a shard by name: by coordinators, and by the shards that follow it. */
import type { ShardCall, ShardResults } from '../shared/calls.js';
import { unavailable, unreachable, VouchError } from '../shared/errors.js';
import type { LogCount } from '../shared/log/logCount.js';
import { severalAtOnce } from '../shared/severalAtOnce.js';
import type { CollectionContext } from './collection/collectionContext.js';
import type { HandOvers } from './handOver.js';
import type { Lease } from './lease.js';
import type { Place } from './place.js';

/** Ends of logs that are read at a time. */
const READS_AT_ONCE = 16;

export interface NamedCallsParts {
  readonly places: ReadonlyMap<number, Place>;
  readonly context: CollectionContext;
  readonly lease: Lease;
  readonly handOvers: HandOvers;
  /** Reads the collection's owner entry, and resolves when this shard is what it says. */
  readonly lookUp: (collectionId: number) => Promise<void>;
  readonly drop: (collectionId: number) => Promise<void>;
}

type Result = ShardResults[ShardCall['op']];

export class NamedCalls {
  constructor(private readonly parts: NamedCallsParts) {}

  async run(call: ShardCall, deadlineMs: number): Promise<Result> {
    const { context, lease, handOvers, places, lookUp, drop } = this.parts;
    switch (call.op) {
      case 'adopt':
        await Promise.all(call.collectionIds.map(lookUp));
        return null;
      case 'drop':
        await drop(call.collectionId);
        return null;
      case 'count':
        return this.#count(call.collectionIds);
      case 'openIds':
        return this.#openIds();
      case 'warm':
        return this.#warm(call.collectionId);
      case 'handOver':
        await handOvers.handOver(places.get(call.collectionId), call, deadlineMs);
        return null;
      case 'heads':
        return { sequences: await severalAtOnce(call.collectionIds, READS_AT_ONCE, (id) => this.#head(id)) };
      case 'stateHashAt':
        return { stateHash: await this.#stateHashAt(call.collectionId, call.sequence, deadlineMs) };
      case 'trim':
        await context.quota.trim(call.project);
        return null;
      case 'yield':
        lease.yield();
        return null;
      case 'metrics':
        return { json: await context.metrics.json() };
      default:
        return unreachable(call);
    }
  }

  async #count(collectionIds: readonly number[]): Promise<ShardResults['count']> {
    const { places, context } = this.parts;
    const counts = await Promise.all(collectionIds.map((id) => this.#countOne(id)));
    return {
      records: counts.map(({ records }) => records),
      logBytes: counts.map(({ logBytes }) => logBytes),
      snapshotBytes: collectionIds.map((id) => context.snapshots?.store.bytesOf(id) ?? 0),
      serving: collectionIds.map((id) => places.get(id)?.held?.serving ?? 'brute'),
    };
  }

  #countOne(collectionId: number): Promise<LogCount> {
    const collection = this.parts.places.get(collectionId)?.held;
    if (collection === undefined) throw unavailable(`this shard does not serve collection ${collectionId}`);
    return collection.count();
  }

  #openIds(): ShardResults['openIds'] {
    const [open, held, following]: number[][] = [[], [], []];
    for (const [id, { owned, follower }] of this.parts.places) {
      if (owned?.isOpen) open!.push(id);
      if (owned?.isHeld) held!.push(id);
      if (follower?.collection !== undefined) following!.push(id);
    }
    return { open: open!, held: held!, following: following! };
  }

  async #warm(collectionId: number): Promise<ShardResults['warm']> {
    const { places, lookUp } = this.parts;
    if (places.get(collectionId)?.follower === undefined) await lookUp(collectionId);
    const follower = places.get(collectionId)?.follower;
    if (follower === undefined || follower.isOfNoUse)
      throw new VouchError('conflict', `this shard does not follow collection ${collectionId}, or must not`);
    return { ready: await follower.warm() };
  }

  /** Null also where it is no more this shard's by the time that it is known. */
  async #head(collectionId: number): Promise<number | null> {
    const place = this.parts.places.get(collectionId);
    const collection = place?.owned;
    if (collection === undefined || collection.quarantined) return null;
    const { sequence } = await collection.count();
    return place?.owned === collection && !collection.quarantined ? sequence : null;
  }

  async #stateHashAt(collectionId: number, sequence: number, deadlineMs: number): Promise<string | null> {
    const place = this.parts.places.get(collectionId);
    const hash = await place?.owned?.openCollection?.stateHashAt(sequence, deadlineMs);
    return place?.owned === undefined ? null : (hash ?? null);
  }
}
