/** One shard: serves the collections that the owners bucket gives it, as long as its lease holds. */
import type { Bucket, Change, Watch } from '../shared/bucket/bucket.js';
import type { CollectionConfig, ReadCall, ShardCall, ShardResults, WriteCall } from '../shared/calls.js';
import { unavailable, unreachable } from '../shared/errors.js';
import { ownershipOf } from '../shared/owners.js';
import { collectionSubject, shardSubject } from '../shared/subjects.js';
import type { Message, Serving } from '../shared/transport/transport.js';
import { failure, type Outcome, packOutcomes, type Sent, unpackCalls } from '../shared/wire.js';
import type { CollectionContext } from './collection/collection.js';
import { HostedCollection } from './hostedCollection.js';
import type { Lease } from './lease.js';
import type { Gauges, ShardMetrics } from './metrics.js';
import type { Quota } from './quota.js';

interface Hosted {
  readonly collection: HostedCollection;
  readonly servings: Promise<Serving[]>;
}

export class ShardNode {
  readonly #hosted = new Map<number, Hosted>();
  /** Deleted while this shard served them: an owner entry that lingers must not bring them back. */
  readonly #dropped = new Set<number>();
  #watch: Watch | undefined;
  #named: Serving | undefined;
  #stopping = false;

  constructor(
    readonly name: string,
    private readonly owners: Bucket,
    private readonly context: CollectionContext,
    private readonly quota: Quota,
    private readonly lease: Lease,
    private readonly metrics: ShardMetrics,
  ) {
    quota.attach(this);
  }

  async start(): Promise<void> {
    await this.lease.start();
    this.#watch = await this.owners.watch((change) => this.#ownerChanged(change));
    await Promise.all([...this.#hosted.values()].map((hosted) => hosted.servings));
    this.#named = await this.context.transport.serve(shardSubject(this.name), (message) => this.#answerNamed(message));
  }

  /** Takes no new call, answers those under way, and lets go of everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#watch?.stop();
    await this.#named?.stop();
    await Promise.all([...this.#hosted.keys()].map((id) => this.#release(id)));
    await this.lease.stop();
  }

  get load(): { collections: number; records: number } {
    let records = 0;
    for (const { collection } of this.#hosted.values()) records += collection.knownRecords;
    return { collections: this.#hosted.size, records };
  }

  gauges(vectorBytes: number): Gauges {
    const now = { collections: 0, openCollections: 0, quarantinedCollections: 0, records: 0, vectorBytes };
    for (const collection of this.collections()) {
      now.collections++;
      if (collection.isOpen) now.openCollections++;
      if (collection.quarantined) now.quarantinedCollections++;
      now.records += collection.knownRecords;
    }
    return now;
  }

  *collections(): Generator<HostedCollection> {
    for (const { collection } of this.#hosted.values()) yield collection;
  }

  #ownerChanged({ key, entry }: Change): void {
    if (this.#stopping) return;
    const id = Number(key);
    if (entry === undefined) {
      this.quota.ownerGone(id);
      void this.#release(id);
      return;
    }
    const { shard, collection } = ownershipOf(entry);
    this.quota.ownerKnown(id, collection.project, shard);
    if (shard === this.name) this.#adopt(collection);
    else void this.#release(id);
  }

  #adopt(config: CollectionConfig): Promise<Serving[]> {
    const known = this.#hosted.get(config.id);
    if (known !== undefined) return known.servings;
    if (this.#dropped.has(config.id)) return Promise.resolve([]);
    const collection = new HostedCollection(config, this.context);
    const { transport } = this.context;
    const servings = Promise.all([
      transport.serve(collectionSubject(config.id, 'read'), (message) =>
        this.#answer<ReadCall>(message, ({ call, ...envelope }) => collection.read(call, envelope)),
      ),
      transport.serve(collectionSubject(config.id, 'write'), (message) =>
        this.#answer<WriteCall>(message, ({ call, ...envelope }) => collection.write(call, envelope)),
      ),
    ]);
    servings.catch((error: unknown) => {
      this.context.logger.error({ collectionId: config.id, error: String(error) }, 'cannot serve the collection');
      this.#hosted.delete(config.id);
    });
    this.#hosted.set(config.id, { collection, servings });
    return servings;
  }

  async #release(collectionId: number): Promise<void> {
    const hosted = this.#hosted.get(collectionId);
    if (hosted === undefined) return;
    this.#hosted.delete(collectionId);
    const servings = await hosted.servings.catch(() => []);
    await Promise.all(servings.map((serving) => serving.stop()));
    await hosted.collection.close();
  }

  async #answer<C extends { readonly op: string }>(
    message: Message,
    run: (sent: Sent<C>) => Promise<unknown>,
  ): Promise<Uint8Array> {
    const calls = unpackCalls<C>(message.body);
    return packOutcomes(await Promise.all(calls.map((sent) => this.#outcome(sent, run))));
  }

  async #outcome<C extends { readonly op: string }>(
    sent: Sent<C>,
    run: (sent: Sent<C>) => Promise<unknown>,
  ): Promise<Outcome> {
    const { clock, logger } = this.context;
    const done = this.metrics.time(sent.call.op);
    try {
      if (!this.lease.valid) throw unavailable('the shard has lost touch with the cluster; retry shortly');
      if (clock.nowMs() > sent.deadlineMs) throw unavailable('the deadline passed before the shard could start');
      const ok = await run(sent);
      // A read that outlived the lease may be older than a write that another owner has answered meanwhile.
      if (!this.lease.valid) throw unavailable('the shard has lost touch with the cluster; retry shortly');
      done('ok');
      return { ok };
    } catch (error) {
      const outcome = failure(error);
      if ('code' in outcome) {
        done(outcome.code);
        if (outcome.code === 'internal_error')
          logger.error({ requestId: sent.requestId, op: sent.call.op, error }, 'a call failed');
      }
      return outcome;
    }
  }

  #answerNamed(message: Message): Promise<Uint8Array> {
    return this.#answer<ShardCall>(message, ({ call }) => this.#runNamed(call));
  }

  async #runNamed(call: ShardCall): Promise<ShardResults[ShardCall['op']]> {
    switch (call.op) {
      case 'adopt':
        await Promise.all(call.collections.map((config) => this.#adopt(config)));
        return null;
      case 'drop':
        this.#dropped.add(call.collectionId);
        await this.#release(call.collectionId);
        return null;
      case 'count': {
        const counts = await Promise.all(call.collectionIds.map((id) => this.#count(id)));
        return { records: counts.map(({ records }) => records), logBytes: counts.map(({ logBytes }) => logBytes) };
      }
      case 'trim':
        await this.quota.trim(call.project);
        return null;
      case 'metrics':
        return { json: await this.metrics.json() };
      default:
        return unreachable(call);
    }
  }

  #count(collectionId: number): Promise<{ records: number; logBytes: number }> {
    const hosted = this.#hosted.get(collectionId);
    if (hosted === undefined) throw unavailable(`this shard does not serve collection ${collectionId}`);
    return hosted.collection.count();
  }
}
