// Covers: shared/registry/reservations.ts
/** The record quota of a project whose collections are on several shards. */
import { expect } from 'chai';
import type { Bucket, BucketValue, Entry } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { silentLogger } from '../../../../shared/logger.js';
import { areShardCalls } from '../../../../shared/protocol/callShapes.js';
import { failure, packOutcomes, unpackCalls } from '../../../../shared/protocol/wire.js';
import { Reservations } from '../../../../shared/registry/reservations.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import { shardSubject } from '../../../../shared/transport/subjects.js';
import type { Serving } from '../../../../shared/transport/transport.js';
import { expectCode, gate } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { configOf, Engine, type TestCollection } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const PROJECT = 'p';
const COLLECTIONS = 6;
const CAPACITY_BYTES = 1_000_000;
const SHARDS = ['s1', 's2', 's3'] as const;

/** A remote bucket that answers in any order. Asserts that the sum of a ledger never exceeds the quota. */
class FarBucket implements Bucket {
  readonly near = new MemoryBucket({ logger: silentLogger });
  reads = 0;

  constructor(
    private readonly random: SeededRandom,
    private readonly capacity: number,
  ) {}

  async get(key: string): Promise<Entry | undefined> {
    this.reads++;
    await this.#travel();
    const entry = await this.near.get(key);
    await this.#travel();
    return entry;
  }

  async create(key: string, value: BucketValue): Promise<number | undefined> {
    await this.#travel();
    return this.#checked(key, value, await this.near.create(key, value));
  }

  async update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    await this.#travel();
    return this.#checked(key, value, await this.near.update(key, value, revision));
  }

  put = (): never => this.#unused();
  next = (): never => this.#unused();
  clear = (): never => this.#unused();
  delete = (): never => this.#unused();
  watch = (): never => this.#unused();

  async total(): Promise<number> {
    return sumOf((await this.near.get(PROJECT))?.value ?? {});
  }

  #checked(key: string, value: BucketValue, revision: number | undefined): number | undefined {
    const most = key === PROJECT ? this.capacity : CAPACITY_BYTES;
    if (revision !== undefined) expect(sumOf(value), `reserved in all of ${key}`).to.be.at.most(most);
    return revision;
  }

  async #travel(): Promise<void> {
    for (let turns = this.random.int(4); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
  }

  #unused(): never {
    throw new Error('reservations read and swap, no more');
  }
}

const sumOf = (ledger: BucketValue): number =>
  Object.values(ledger as Record<string, number>).reduce((sum, one) => sum + one, 0);

/** Shards over one bucket and one transport; collection n is on shard n mod 3. */
class Cluster {
  readonly bucket: FarBucket;
  readonly collections: TestCollection[] = [];
  readonly #servings: Serving[] = [];

  private constructor(random: SeededRandom, capacity: number) {
    this.bucket = new FarBucket(random, capacity);
  }

  static async start(random: SeededRandom, capacity: number): Promise<Cluster> {
    const cluster = new Cluster(random, capacity);
    const transport = new InProcessTransport({ logger: silentLogger });
    const { bucket } = cluster;
    const logs = new ScriptedLogs();
    const engines = SHARDS.map(
      (shard) => new Engine(logs, { capacity, capacityBytes: CAPACITY_BYTES, shard, bucket, transport }),
    );
    for (let id = 1; id <= COLLECTIONS; id++) {
      const owner = id % SHARDS.length;
      cluster.collections.push((engines[owner] as Engine).host(configOf(id)));
      for (const { context } of engines) context.quota.ownerKnown(id, PROJECT, SHARDS[owner] as string);
    }
    for (const [i, { context }] of engines.entries())
      cluster.#servings.push(
        await transport.serve(shardSubject(SHARDS[i] as string), async ({ body }) => {
          const [sent] = unpackCalls(body, areShardCalls);
          expect(sent?.call).to.deep.equal({ op: 'trim', project: PROJECT });
          const outcome = await context.quota.trim(PROJECT).then(() => ({ ok: null }), failure); // prettier-ignore
          return packOutcomes([outcome]);
        }),
      );
    return cluster;
  }

  silence(shard: number): Promise<void> {
    return (this.#servings[shard] as Serving).stop();
  }

  async records(): Promise<number> {
    const counts = await Promise.all(this.collections.map((collection) => collection.records()));
    return counts.reduce((sum, one) => sum + one);
  }
}

describe('the record quota of a project', () => {
  it('is filled to the last record and never exceeded, by concurrent inserts on any shard', async () => {
    const seed = testSeed();
    for (let round = 0; round < 8; round++) {
      const random = seededRandom(seed + round);
      const capacity = 1 + random.int(300);
      const cluster = await Cluster.start(random, capacity);
      const outcomes = await Promise.all(
        Array.from({ length: 2 * capacity }, async () => {
          for (let turns = random.int(60); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
          return random
            .pick(cluster.collections)
            .insert([1, 1])
            .then(
              () => 'stored',
              (error: { code: string }) => error.code,
            );
        }),
      );
      const stored = outcomes.filter((outcome) => outcome === 'stored').length;
      expect(stored, `round ${round}`).to.equal(capacity);
      expect(new Set(outcomes)).to.have.all.keys('stored', 'capacity_exceeded');
      expect(await cluster.records()).to.equal(capacity);
      expect(await cluster.bucket.total()).to.equal(capacity);
    }
  });

  it('is refused only when the project is full, after every insert, batch and deletion', async () => {
    const random = seededRandom(testSeed());
    const capacity = 200;
    const cluster = await Cluster.start(random, capacity);
    const living = new Map<TestCollection, number[]>(cluster.collections.map((collection) => [collection, []]));
    let live = 0;
    let refused = 0;
    for (let step = 0; step < 400; step++) {
      const collection = random.pick(cluster.collections);
      const ids = living.get(collection) as number[];
      if (random.int(3) === 0 && ids.length > 0) {
        for (const id of ids.splice(0, 1 + random.int(10))) {
          await collection.write({ op: random.pick(['softDelete', 'delete'] as const), id });
          live--;
        }
        continue;
      }
      const rows = Array.from({ length: 1 + random.int(25) }, () => [step, 0]);
      if (live + rows.length > capacity) {
        await expectCode(collection.batch(rows), 'capacity_exceeded');
        refused++;
      } else {
        ids.push(...(await collection.batch(rows)));
        live += rows.length;
      }
      expect(await cluster.records()).to.equal(live);
    }
    expect(refused).to.be.above(0);
  });

  it('is not reported as exhausted if a shard with unused reservations does not answer', async () => {
    const cluster = await Cluster.start(seededRandom(testSeed()), 100);
    const [one, two] = cluster.collections as [TestCollection, TestCollection];
    await one.insert([1, 0]);
    expect(await cluster.bucket.total()).to.be.above(1);
    await cluster.silence(1);
    const error = await expectCode(two.batch(Array.from({ length: 99 }, () => [2, 0])), 'unavailable');
    expect(error.retryAfterSecs).to.equal(1);
    // A batch that fits without that shard is accepted.
    expect(await two.batch([[3, 0]])).to.deep.equal([1]);
  });

  it("is released by a trim up to the use of this shard's collections only", async () => {
    const bucket = new MemoryBucket({ logger: silentLogger });
    const [one, two] = ['s1', 's2'].map((shard) => new Engine(new ScriptedLogs(), { capacity: 1_000, bucket, shard }));
    await one!.host(configOf(1)).batch(Array.from({ length: 10 }, () => [1, 1]));
    await two!.host(configOf(2)).insert([1, 1]);
    const before = (await bucket.get(PROJECT))?.value as Record<string, number>;
    expect(before[1]).to.be.above(10);
    await one!.context.quota.trim(PROJECT);
    expect((await bucket.get(PROJECT))?.value).to.deep.equal({ 1: 10, 2: before[2] });
    await one!.context.quota.trim('another');
    expect((await bucket.get(PROJECT))?.value).to.deep.equal({ 1: 10, 2: before[2] });
  });

  it('is granted while a trim of another project waits for the bucket', async () => {
    const blocked = gate();
    const bucket = new MemoryBucket({ logger: silentLogger });
    const update = bucket.update.bind(bucket);
    const engine = new Engine(new ScriptedLogs(), { capacity: 1_000, bucket });
    await engine.host(configOf(1)).insert([1, 1]);
    bucket.update = async (key, value, revision) => {
      if (key === PROJECT) await blocked.opened;
      return update(key, value, revision);
    };
    const trimmed = engine.context.quota.trim(PROJECT);
    const { records } = await engine.context.quota.grant('another', 2, { records: 5, bytes: 5 });
    expect(records).to.be.at.least(5);
    blocked.open();
    await trimmed;
  });

  it('needs the bucket only when the reservation is used up', async () => {
    const cluster = await Cluster.start(seededRandom(testSeed()), 1_000_000);
    const [one] = cluster.collections as [TestCollection];
    await one.insert([1, 0]);
    const { reads } = cluster.bucket;
    for (let i = 0; i < 50; i++) await one.insert([i, 0]);
    expect(cluster.bucket.reads).to.equal(reads);
  });

  it('is released completely by a deleted collection', async () => {
    const bucket = new MemoryBucket({ logger: silentLogger });
    const reservations = new Reservations(bucket, {
      maxRecords: 10,
      maxBytes: 10,
      maxBytesOfProjects: { large: 10_000_000_000 },
    });
    for (const kind of ['records', 'bytes'] as const) {
      expect(await reservations.raise(kind, PROJECT, 1, 6)).to.equal(6);
      expect(await reservations.raise(kind, PROJECT, 2, 6)).to.equal(4);
      expect(await reservations.raise(kind, PROJECT, 2, 1)).to.equal(4);
    }
    await reservations.remove(PROJECT, 1);
    expect(await reservations.raise('records', PROJECT, 2, 10)).to.equal(10);
    expect(await reservations.raise('bytes', PROJECT, 2, 10)).to.equal(10);
    await reservations.lower(PROJECT, 2, { records: 3, bytes: 7 });
    expect((await bucket.get(PROJECT))?.value).to.deep.equal({ 2: 3 });
    expect((await bucket.get(`${PROJECT}.bytes`))?.value).to.deep.equal({ 2: 7 });
    // More than 32 bits, with slack.
    expect(await reservations.raise('bytes', 'large', 1, 8_000_000_000)).to.be.within(8_200_000_000, 9_000_000_000);
  });
});
