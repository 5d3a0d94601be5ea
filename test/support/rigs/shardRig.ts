/** Shards of a cluster in memory without a coordinator: the test sets the owners, and calls whichever shard serves. */

import { setTimeout as delay } from 'node:timers/promises';
import type { ConfigOverrides } from '../../../config/load.js';
import { verbOfCall } from '../../../coordinator/cluster/calls/callTraits.js';
import { Collection } from '../../../shard/collection/collection.js';
import type { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { CollectionState } from '../../../shard/state/collectionState.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock } from '../../../shared/clock.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import type { Call, ResultOf, SearchCall, ShardCall, ShardResults } from '../../../shared/protocol/calls.js';
import { ask } from '../../../shared/protocol/wire.js';
import { type Ownership, ownershipOf, storedOwnership } from '../../../shared/registry/owners.js';
import {
  collectionSubject,
  followerSubject,
  followersSubject,
  shardSubject,
} from '../../../shared/transport/subjects.js';
import { NotServed } from '../../../shared/transport/transportErrors.js';
import { eventually } from '../expectations.js';
import { samplesNamed } from '../launch/metricSamples.js';
import { PATIENCE_MS } from '../patience.js';
import { configOf, fixed, soon } from './engine.js';
import { MemoryCluster, type Reach } from './memoryCluster.js';

/** Long times: no shard loses a lease because the machine is busy. */
const PATIENT = { heartbeatMs: 100, leaseMs: 20_000, failoverMs: 30_000, drainTimeoutMs: 20_000 };

export interface RiggedShard {
  readonly reach: Reach;
  leave(): Promise<void>;
  stop(): Promise<void>;
}

export class ShardRig {
  readonly cluster: MemoryCluster;
  /** False: a call without a server fails at once. */
  retries = true;

  constructor(overrides: ConfigOverrides = {}) {
    this.cluster = new MemoryCluster({ placement: PATIENT, ...overrides });
  }

  /** Starts a shard, over `reach` if given; its settings apply from the start on. */
  shard(name: string, reach?: Reach): Promise<RiggedShard> {
    return this.cluster.shard(name, undefined, reach);
  }

  /** Creates the collection with that id. */
  async create(id: number, shard: string, followers: readonly string[] = []): Promise<CollectionConfig> {
    const collection = configOf(id);
    await this.cluster
      .bucket(BUCKETS.owners)
      .create(String(id), storedOwnership({ shard, epoch: 1, collection, followers }));
    await this.ask(shard, { op: 'adopt', collectionIds: [id] });
    return collection;
  }

  async ownership(id: number): Promise<Ownership & { readonly revision: number }> {
    const entry = await this.cluster.bucket(BUCKETS.owners).get(String(id));
    if (entry === undefined) throw new Error(`collection ${id} has no owner entry`);
    return { ...ownershipOf(entry), revision: entry.revision };
  }

  /** Changes the owner entry like the leader of placement does. */
  async change(id: number, changed: Partial<Ownership>): Promise<void> {
    const { revision, ...before } = await this.ownership(id);
    const stored = storedOwnership({ ...before, ...changed });
    await this.cluster.bucket(BUCKETS.owners).update(String(id), stored, revision);
  }

  async ask<C extends ShardCall>(shard: string, call: C, withinMs = PATIENCE_MS): Promise<ShardResults[C['op']]> {
    return this.#request(shardSubject(shard), call, withinMs);
  }

  /** Calls like a coordinator: if the collection has moved or has no server, it retries with the current owner. */
  async call<C extends Call>(id: number, call: C, withinMs = PATIENCE_MS): Promise<ResultOf<C>> {
    const giveUpMs = systemClock.monotonicMs() + withinMs;
    for (;;) {
      try {
        const { epoch } = await this.ownership(id);
        return await this.#request(collectionSubject(id, epoch, verbOfCall(call)), call, withinMs);
      } catch (error) {
        if (!(error instanceof NotServed) || !this.retries || systemClock.monotonicMs() > giveUpMs) throw error;
        await delay(2);
      }
    }
  }

  /** Asks the owner under that epoch, once. */
  askEpoch<C extends Call>(id: number, epoch: number, call: C, withinMs = PATIENCE_MS): Promise<ResultOf<C>> {
    return this.#request(collectionSubject(id, epoch, verbOfCall(call)), call, withinMs);
  }

  /** Asks any follower, once. Throws NotServed if none answers. */
  async eventual(id: number, search: Partial<SearchCall> = {}): Promise<{ ids: number[]; sequence: number }> {
    const call: SearchCall = { op: 'search', query: fixed(0, 0), k: 5_000, tellSequence: true, ...search };
    const { ids, sequence } = await this.#request<ResultOf<SearchCall>>(followersSubject(id), call, 20_000);
    return { ids: numbersIn(ids), sequence: sequence ?? -1 };
  }

  /**
   * Asks that follower for a strong search, which must show every answered write. Throws NotServed if it leaves it
   * to the owner.
   */
  strongAt<C extends Call>(id: number, shard: string, call: C): Promise<ResultOf<C>> {
    return this.#request(followerSubject(id, shard), call, 20_000);
  }

  /** Ids, nearest to the origin first. */
  async found(id: number): Promise<number[]> {
    const { ids } = await this.call(id, { op: 'search', query: fixed(0, 0), k: 5_000 });
    return numbersIn(ids);
  }

  /** Waits until the follower has all events of the owner, and reports it. */
  async untilFollowed(id: number): Promise<void> {
    const { sequence } = await this.call(id, { op: 'describe' });
    await eventually(`collection ${id} is followed up to ${sequence}`, async () => {
      const answer = await this.eventual(id).catch(() => undefined);
      return (answer?.sequence ?? -1) >= sequence;
    });
  }

  async warm(shard: string, collectionId: number): Promise<void> {
    await eventually(`${shard} is warm`, async () => (await this.ask(shard, { op: 'warm', collectionId })).ready);
  }

  /** Moves the collection warm, like the leader does. */
  async move(id: number, to: string): Promise<void> {
    const { followers, shard, epoch } = await this.ownership(id);
    if (!followers.includes(to)) await this.change(id, { followers: [...followers, to] });
    await this.warm(to, id);
    const left = [...followers.filter((name) => name !== to), shard];
    await this.ask(shard, { op: 'handOver', collectionId: id, epoch, to, followers: left });
    await this.ask(to, { op: 'adopt', collectionIds: [id] });
  }

  /** A value of the shard's metrics, summed over the labels that are not given. */
  async metric(shard: string, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const { texts } = await this.ask(shard, { op: 'metrics' });
    const wanted = Object.entries(labels);
    return samplesNamed(name, texts)
      .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value))
      .reduce((sum, { value }) => sum + value, 0);
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }

  async #request<R>(subject: string, call: Call | ShardCall, withinMs: number): Promise<R> {
    const envelope = { ...soon(), deadlineMs: systemClock.nowMs() + withinMs };
    return ask(this.cluster.transport, subject, call, envelope);
  }
}

/** Records every collection opened in this process until `end`, for what no caller could do to one. */
export function watchOpenings(): { readonly opened: readonly OpenedCollection[]; end(): void } {
  const opened: OpenedCollection[] = [];
  const { open } = Collection;
  Collection.open = async (...asked) => {
    const collection = await open.apply(Collection, asked);
    const { state } = collection as unknown as { state: CollectionState };
    opened.push({ collection, state, memory: asked[1].memory });
    return collection;
  };
  return {
    opened,
    end: () => {
      Collection.open = open;
    },
  };
}

export interface OpenedCollection {
  readonly collection: Collection;
  readonly state: CollectionState;
  /** Memory of the shard. */
  readonly memory: VectorMemory;
}

export const numbersIn = (bytes: Uint8Array): number[] => [...new Float64Array(new Uint8Array(bytes).buffer)];
