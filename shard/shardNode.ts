/** One shard: serves the collections that the owners bucket gives it, as long as its lease holds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Change, Watch } from '../shared/bucket/bucket.js';
import { type AreCalls, areControls, areReads, areShardCalls, areWrites } from '../shared/callShapes.js';
import type { ShardCall, ShardResults } from '../shared/calls.js';
import { messageOf, unavailable, unreachable, VouchError } from '../shared/errors.js';
import { type Heartbeat, type Ownership, ownershipOf } from '../shared/owners.js';
import { everyVerb, shardSubject, verbOf } from '../shared/subjects.js';
import { NobodyServes } from '../shared/transport/nobodyServes.js';
import type { Handler, Message, Serving } from '../shared/transport/transport.js';
import { failure, type Outcome, packCalls, packOutcomes, type Sent, unpackCalls } from '../shared/wire.js';
import type { CollectionContext } from './collection/collectionContext.js';
import { HostedCollection } from './hostedCollection.js';
import type { IndexGauges } from './index/indexMetrics.js';
import type { Lease } from './lease.js';
import type { Gauges, ShardMetrics } from './metrics.js';
import type { Quota } from './quota.js';

interface Hosted {
  readonly collection: HostedCollection;
  /** Of the ownership it is hosted by: with another epoch, another shard may have written meanwhile. */
  readonly epoch: number;
  /** Resolves when its subjects are served, or when it is released before they could be. */
  readonly serving: Promise<Serving | undefined>;
}

const SERVE_AGAIN_MS = 200;

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
    /** Called when a collection begins to be served. */
    private readonly onServing: () => void,
  ) {
    quota.attach(this);
  }

  async start(): Promise<void> {
    await this.#succeed();
    await this.lease.start();
    this.#watch = await this.owners.watch((change) => void this.#ownerChanged(change));
    await Promise.all([...this.#hosted.values()].map((hosted) => hosted.serving));
    await this.context.indexes.store.sweep((id) => this.#hosted.has(id));
    await this.context.snapshots?.store.sweep((id) => this.#hosted.has(id));
    this.#named = await this.context.transport.serve(shardSubject(this.name), (message) => this.#answerNamed(message));
  }

  /**
   * A process that still runs under this name must not answer from what it knows once this one takes writes. It is asked
   * to stop; where it cannot even say that it did, its lease ends by itself while the question is open.
   */
  async #succeed(): Promise<void> {
    const { transport, clock, logger } = this.context;
    const envelope = { requestId: 'succeed', deadlineMs: clock.nowMs() + this.lease.leaseMs };
    try {
      await transport.request(shardSubject(this.name), packCalls([{ ...envelope, call: { op: 'yield' } }]), envelope);
    } catch (error) {
      if (error instanceof NobodyServes) return;
      logger.warn({ shard: this.name, error: messageOf(error) }, 'an earlier process of this name does not answer');
    }
  }

  /** Takes no new call, answers those under way, and lets go of everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#watch?.stop();
    await this.#named?.stop();
    await Promise.all([...this.#hosted.keys()].map((id) => this.#release(id, { keep: true })));
    await this.lease.stop();
  }

  get load(): Omit<Heartbeat, 'session'> {
    let records = 0;
    for (const { collection } of this.#hosted.values()) records += collection.knownRecords;
    return { collections: this.#hosted.size, records, damages: this.context.damages.told(), leaving: false };
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

  indexGauges(): IndexGauges {
    const now = { generations: { hnsw: 0, ivf: 0, bq: 0 }, tailRows: 0, bytes: 0, building: 0, progress: 1 };
    for (const { indexLoad, serving } of this.collections()) {
      if (indexLoad === undefined) continue;
      if (serving !== 'brute') now.generations[serving]++;
      now.tailRows += indexLoad.tail;
      now.bytes += indexLoad.bytes;
      if (indexLoad.progress === undefined) continue;
      now.building++;
      now.progress = Math.min(now.progress, indexLoad.progress);
    }
    return now;
  }

  *collections(): Generator<HostedCollection> {
    for (const { collection } of this.#hosted.values()) yield collection;
  }

  /** Lets go of what has passed to other shards while this one was out of touch with the cluster. */
  async confirmOwned(): Promise<void> {
    await Promise.all([...this.#hosted.keys()].map((id) => this.#follow(id)));
  }

  /** Does what the owners bucket says of the collection now. */
  async #follow(collectionId: number): Promise<void> {
    const key = String(collectionId);
    await this.#ownerChanged({ key, entry: await this.owners.get(key) });
  }

  /** Resolves when the collection is served, or let go of. */
  async #ownerChanged({ key, entry }: Change): Promise<void> {
    if (this.#stopping) return;
    const id = Number(key);
    const ownership = entry && ownershipOf(entry);
    if (ownership === undefined) this.quota.ownerGone(id);
    else this.quota.ownerKnown(id, ownership.collection.project, ownership.shard);
    const hosted = this.#hosted.get(id);
    const isOurs = ownership?.shard === this.name;
    if (hosted !== undefined && isOurs && hosted.epoch === ownership.epoch) {
      await hosted.serving;
      return;
    }
    const released = this.#release(id, { keep: isOurs });
    if (isOurs && !this.#dropped.has(id)) {
      await this.#adopt(ownership).serving;
      this.onServing();
    }
    await released;
  }

  #adopt({ collection: config, epoch }: Ownership): Hosted {
    const collection = new HostedCollection(config, this.context);
    const isHosted = (): boolean => this.#hosted.get(config.id)?.collection === collection;
    const serving = this.#serve(everyVerb(config.id, epoch), isHosted, (message) =>
      this.#answerCollection(collection, message),
    );
    const hosted = { collection, epoch, serving };
    this.#hosted.set(config.id, hosted);
    return hosted;
  }

  #answerCollection(collection: HostedCollection, message: Message): Promise<Uint8Array> {
    const verb = verbOf(message.subject);
    switch (verb) {
      case 'read':
        return this.#answer(message, areReads, ({ call, ...envelope }) => collection.read(call, envelope));
      case 'write':
        return this.#answer(message, areWrites, ({ call, ...envelope }) => collection.write(call, envelope));
      case 'control':
        return this.#answer(message, areControls, ({ call, ...envelope }) => collection.control(call, envelope));
      default:
        return unreachable(verb);
    }
  }

  /** Tries until it works: nobody else serves what this shard owns, and nobody will tell it to again. */
  async #serve(subject: string, isWanted: () => boolean, handler: Handler): Promise<Serving | undefined> {
    const { transport, logger } = this.context;
    do {
      try {
        return await transport.serve(subject, handler);
      } catch (error) {
        logger.warn({ subject, error: messageOf(error) }, 'a collection is not served yet');
        await delay(SERVE_AGAIN_MS);
      }
    } while (isWanted());
    return undefined;
  }

  /** `keep`: it will be served here again. */
  async #release(collectionId: number, { keep }: { keep: boolean }): Promise<void> {
    const hosted = this.#hosted.get(collectionId);
    if (hosted === undefined) return;
    this.#hosted.delete(collectionId);
    this.context.damages.forget(collectionId);
    hosted.collection.hurry();
    await (await hosted.serving)?.stop();
    await hosted.collection.close({ keep });
  }

  async #answer<C extends { readonly op: string }>(
    message: Message,
    areCalls: AreCalls<C>,
    run: (sent: Sent<C>) => Promise<unknown>,
  ): Promise<Uint8Array> {
    const calls = unpackCalls(message.body, areCalls);
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
    return this.#answer(message, areShardCalls, ({ call }) => this.#runNamed(call));
  }

  async #runNamed(call: ShardCall): Promise<ShardResults[ShardCall['op']]> {
    switch (call.op) {
      case 'adopt':
        await Promise.all(call.collectionIds.map((id) => this.#follow(id)));
        return null;
      case 'drop':
        this.#dropped.add(call.collectionId);
        await this.#release(call.collectionId, { keep: false });
        return null;
      case 'count': {
        const counts = await Promise.all(call.collectionIds.map((id) => this.#count(id)));
        return {
          records: counts.map(({ records }) => records),
          logBytes: counts.map(({ logBytes }) => logBytes),
          snapshotBytes: call.collectionIds.map((id) => this.context.snapshots?.store.bytesOf(id) ?? 0),
          serving: call.collectionIds.map((id) => this.#hosted.get(id)?.collection.serving ?? 'brute'),
        };
      }
      case 'trim':
        await this.quota.trim(call.project);
        return null;
      case 'yield':
        this.lease.yield();
        return null;
      case 'openIds':
      case 'warm':
      case 'handOver':
      case 'heads':
      case 'stateHashAt':
        throw new VouchError('not_implemented', `${call.op} is being built`);
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
