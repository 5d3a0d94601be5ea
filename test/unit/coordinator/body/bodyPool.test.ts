// Covers: coordinator/body/packedBytes.ts
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { PreparedBatch } from '../../../../coordinator/body/batch.js';
import { BodyPool, type FindScale } from '../../../../coordinator/body/bodyPool.js';
import type { BodyBounds } from '../../../../coordinator/body/bounds.js';
import { prepareBody } from '../../../../coordinator/body/kinds.js';
import { unpackBytes } from '../../../../coordinator/body/packedBytes.js';
import { systemClock } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { componentsOf } from '../../../support/rigs/fakeBackend.js';

const BOUNDS: BodyBounds = {
  metadataBytes: 65_536,
  textBytes: 65_536,
  payloadBytes: 65_536,
  batchVectors: 16_384,
  commitBytes: 2 ** 24,
};

/** No collection normalises. */
const PLAIN: FindScale = () => 'plain';
const TIMES = { maxQueueWaitMs: 60_000, clock: systemClock };

describe('large bodies', () => {
  let pool: BodyPool;
  beforeEach(() => {
    pool = new BodyPool(BOUNDS, PLAIN, silentLogger, TIMES);
  });
  afterEach(() => pool.close());

  const batchOf = (random: SeededRandom, rows: number): Buffer => {
    const batch = Array.from({ length: rows }, () => Array.from({ length: 128 }, () => random.next() * 100 - 50));
    const maybe = <T>(value: T): T | null => (random.int(3) === 0 ? null : value);
    const metadata = batch.map((_, i) => maybe(random.int(2) ? { i, deep: { x: [i] } } : `{"text":${i}}`));
    const texts = batch.map((_, i) => maybe(`text é ${i}`));
    const request_ids = batch.map((_, i) => maybe(i.toString(16).padStart(32, '0')));
    return Buffer.from(JSON.stringify({ batch, metadata, texts, request_ids }));
  };
  const plain = ({ vectors, metadata, requestIds, ...rest }: PreparedBatch): unknown => ({
    ...rest,
    vectors: Buffer.from(vectors).toString('hex'),
    metadata: metadata && unpackBytes(metadata).map((item) => item && Buffer.from(item).toString()),
    requestIds: requestIds && unpackBytes(requestIds).map((item) => item && Buffer.from(item).toString('hex')),
  });

  it('come out of a worker as they do without one', async () => {
    const random = seededRandom(testSeed());
    const bodies = Array.from({ length: 6 }, () => batchOf(random, 100 + random.int(300)));
    const expected = bodies.map((body) => plain(prepareBody('batch', { form: 'json', bytes: body }, BOUNDS)));
    const prepared = await Promise.all(bodies.map((body) => pool.prepare('batch', 'json', Buffer.from(body), 'p')));
    expect(prepared.map(plain)).to.deep.equal(expected);
  });

  it('are refused in a worker as they are without one', async () => {
    const filler = ' '.repeat(300_000);
    const refusal = async (text: string): Promise<[string, string]> => {
      const error: unknown = await pool
        .prepare('search', 'json', Buffer.from(text + filler), 'p')
        .catch((e: unknown) => e);
      return [(error as VouchError).code, (error as VouchError).message];
    };
    expect(await refusal('{"query":[1,"x"],"k":1}')).to.deep.equal([
      'validation_error',
      '$.query[1]: expected a number from -32768 to 32767.99998, got "x"',
    ]);
    expect((await refusal('{"query":'))[1]).to.match(/^the body is not JSON/);
    const { call } = await pool.prepare('search', 'json', Buffer.from(`{"query":[1,2],"k":1}${filler}`), 'p');
    expect(componentsOf(call.query!)).to.deep.equal([65_536, 131_072]);
  });

  it('go to a worker also if they are short but have many elements, which dominate parsing', async () => {
    let workers = 0;
    const count = (): void => {
      workers++;
    };
    process.on('worker', count);
    try {
      const of = (metadata_filter: object): Buffer =>
        Buffer.from(JSON.stringify({ query: [1], k: 1, metadata_filter, query_text: 'x'.repeat(8_000) }));
      const some = { $or: Array.from({ length: 100 }, (_, i) => ({ [`f${i}`]: i })) };
      await pool.prepare('search', 'json', of(some), 'p');
      expect(workers).to.equal(0);
      const many = { $or: Array.from({ length: 2_000 }, (_, i) => ({ [`f${i}`]: i })) };
      const refusal = await pool.prepare('search', 'json', of(many), 'p').catch((error: VouchError) => error);
      expect(refusal).to.include({ code: 'validation_error' });
      expect((refusal as VouchError).message).to.match(/at most 128 conditions/);
      expect(workers).to.equal(1);
    } finally {
      process.off('worker', count);
    }
  });

  it('share a worker, which ends after it has been idle for a while', async () => {
    const soon = new BodyPool(BOUNDS, PLAIN, silentLogger, { ...TIMES, idleMs: 1 });
    const workers: Worker[] = [];
    const started = (worker: Worker): unknown => workers.push(worker);
    process.on('worker', started);
    try {
      const body = batchOf(seededRandom(2), 200);
      const expected = plain(prepareBody('batch', { form: 'json', bytes: body }, BOUNDS));
      for (let round = 1; round <= 2; round++) {
        const prepared = await soon.prepare('batch', 'json', Buffer.from(body), 'p');
        expect(plain(prepared)).to.deep.equal(expected);
        expect(workers.length).to.equal(round);
        await once(workers.at(-1)!, 'exit');
      }
    } finally {
      process.off('worker', started);
      await soon.close();
    }
  });

  it('survive the death of a worker: its body fails, and the next one starts another worker', async () => {
    const body = batchOf(seededRandom(1), 200);
    const lost = pool.prepare('batch', 'json', Buffer.from(body), 'p').catch((error: Error) => error);
    const [worker] = (await once(process, 'worker')) as [Worker];
    await worker.terminate();
    expect(await lost)
      .to.be.instanceOf(Error)
      .and.not.instanceOf(VouchError);
    expect(await pool.prepare('batch', 'json', Buffer.from(body), 'p')).to.have.property('count', 200);
  });

  it('from one project leave a part of the queue to others', async () => {
    const sizeBytes = 1 << 20;
    const waiting: Promise<unknown>[] = [];
    const isTaken = (project: string): boolean => {
      try {
        pool.assertCapacity('search', 'json', sizeBytes, project);
        return true;
      } catch {
        return false;
      }
    };
    while (isTaken('p') && waiting.length < 1_000)
      waiting.push(pool.prepare('search', 'json', Buffer.alloc(sizeBytes), 'p').catch(() => undefined));
    expect(pool.waiting).to.equal(48);
    expect(isTaken('q')).to.equal(true);
    await pool.close();
    await Promise.all(waiting);
  });

  it('wait in a bounded queue, and fail when the pool is closed', async () => {
    const body = batchOf(seededRandom(1), 200);
    const outcomes = Array.from({ length: 80 }, () =>
      pool.prepare('batch', 'json', Buffer.from(body), 'p').then(
        () => 'prepared',
        (error: VouchError) => error.code,
      ),
    );
    const first = await outcomes[0];
    await pool.close();
    const codes = await Promise.all(outcomes);
    expect(first).to.equal('prepared');
    expect(codes.filter((code) => code === 'unavailable').length).to.be.at.least(10);
    expect(codes.every((code) => code === 'prepared' || code === 'unavailable')).to.equal(true);
  });
});

describe('small bodies', () => {
  const SIZE = 60 << 10;
  const body = (): Buffer => Buffer.from(`{"collection":"c","query":[1],"k":1}${' '.repeat(SIZE)}`);

  it('are prepared a few in each turn of the event loop, in order', async () => {
    const pool = new BodyPool(BOUNDS, PLAIN, silentLogger, TIMES);
    const turns: number[][] = [[]];
    const left = new Set(Array.from({ length: 64 }, (_, i) => i));
    const countTurns = (): void => {
      turns.push([]);
      if (left.size > 0) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    await Promise.all(
      [...left].map(async (i) => {
        await pool.prepare('search', 'json', body(), 'p');
        left.delete(i);
        turns.at(-1)!.push(i);
      }),
    );
    expect(turns.flat()).to.deep.equal(Array.from({ length: 64 }, (_, i) => i));
    expect(Math.max(...turns.map((prepared) => prepared.length))).to.be.at.most(8);
    await pool.close();
  });
});
