// Covers: shard/node/beingImported.ts
import { expect } from 'chai';
import type { CollectionHandle } from '../../../../shard/collection/collectionHandle.js';
import { DueRemovals } from '../../../../shard/node/dueRemovals.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { silentLogger } from '../../../../shared/logger.js';
import { dueKey, dueOf } from '../../../../shared/registry/openings.js';
import { eventually } from '../../../support/expectations.js';
import { configOf } from '../../../support/rigs/engine.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const NEVER = Number.POSITIVE_INFINITY;

/** A collection with the times at which its records expire. */
class FakeHandle {
  readonly config;
  readonly quarantined = false;
  isOpen = false;
  removed: number[] = [];
  constructor(
    id: number,
    readonly expiriesMs: number[],
    private readonly clock: TestClock,
  ) {
    this.config = configOf(id);
  }
  get nextMs(): number {
    return Math.min(NEVER, ...this.expiriesMs);
  }
  get openCollection(): object | undefined {
    return this.isOpen ? { state: { expiries: { nextMs: this.nextMs } } } : undefined;
  }
  async opened(): Promise<void> {
    this.isOpen = true;
  }
  async expire(): Promise<number> {
    this.isOpen = true;
    while (this.nextMs <= this.clock.nowMs())
      this.removed.push(...this.expiriesMs.splice(this.expiriesMs.indexOf(this.nextMs), 1));
    return this.nextMs;
  }
}

describe('the removals of a shard', () => {
  let clock: TestClock;
  let bucket: MemoryBucket;
  let handles: Map<number, FakeHandle>;
  let opened: number[];
  const running: DueRemovals[] = [];

  const start = async (isOwner = true): Promise<DueRemovals> => {
    const removals = new DueRemovals({
      bucket,
      catalog: new MemoryBucket({ logger: silentLogger }),
      openings: {
        inBackground: async ({ id }, open) => {
          opened.push(id);
          await open();
        },
      },
      owned: (id) => (isOwner ? (handles.get(id) as unknown as CollectionHandle) : undefined),
      mayAnswer: () => true,
      clock,
      logger: silentLogger,
    });
    await removals.start();
    running.push(removals);
    return removals;
  };
  const noted = async (id: number): Promise<number | undefined> => {
    const entry = await bucket.get(dueKey(id));
    return entry && dueOf(entry);
  };
  const host = (id: number, expiriesMs: number[]): FakeHandle => {
    const handle = new FakeHandle(id, expiriesMs, clock);
    handles.set(id, handle);
    return handle;
  };
  beforeEach(() => {
    clock = new TestClock();
    bucket = new MemoryBucket({ logger: silentLogger });
    handles = new Map();
    opened = [];
  });
  afterEach(async () => {
    for (const removals of running.splice(0)) await removals.stop();
  });

  it('open an idle collection once its first record expires, and no other', async () => {
    const at = clock.nowMs() + 60_000;
    const before = await start();
    await before.ensureNoted(1, at);
    await before.ensureNoted(2, at + 600_000);
    await before.stop();
    // After a restart only the notes are known.
    const [due, later] = [host(1, [at]), host(2, [at + 600_000])];
    await start();
    clock.advance(60_000);
    await eventually('the record is removed', () => due.removed.length === 1);
    expect([opened, later.removed]).to.deep.equal([[1], []]);
  });

  it('are due in a collection that is not open, from the time in its note on', async () => {
    const removals = await start(false);
    await removals.ensureNoted(1, clock.nowMs() + 60_000);
    clock.advance(59_999);
    expect([removals.isDue(1), removals.isDue(2)]).to.deep.equal([false, false]);
    clock.advance(1);
    expect([removals.isDue(1), removals.isDue(2)]).to.deep.equal([true, false]);
  });

  it('write a note only if a record expires before all others', async () => {
    const removals = await start();
    const at = clock.nowMs() + 60_000;
    await removals.ensureNoted(1, NEVER);
    expect(await noted(1)).to.equal(undefined);
    for (const [nextMs, wanted] of [
      [at, at],
      [at + 5, at],
      [NEVER, at],
      [at - 5, at - 5],
    ] as const) {
      await removals.ensureNoted(1, nextMs);
      expect(await noted(1)).to.equal(wanted);
    }
  });

  it('replace a note that is too early after ten minutes', async () => {
    const at = clock.nowMs() + 1_000;
    const handle = host(1, [at]);
    const removals = await start();
    await removals.ensureNoted(1, at);
    clock.advance(2_000);
    await eventually('the record is removed', () => handle.removed.length === 1);
    expect(await noted(1)).to.equal(at);
    clock.advance(600_000);
    await eventually('the note says that nothing expires', async () => (await noted(1)) === NEVER);
  });

  it('follow soon after the shard has become the owner', async () => {
    const at = clock.nowMs() + 1_000;
    const removals = await start();
    await removals.ensureNoted(1, at);
    clock.advance(1_500);
    await removals.removeDue([1]);
    const handle = host(1, [at]);
    clock.advance(20_000);
    await eventually('the record is removed', () => handle.removed.length === 1);
  });

  it('forget a deleted collection', async () => {
    const removals = await start();
    await removals.ensureNoted(1, clock.nowMs() + 1_000);
    await bucket.delete(dueKey(1));
    const handle = host(1, []);
    clock.advance(2_000);
    await removals.removeDue([1]);
    expect([opened, handle.isOpen]).to.deep.equal([[], false]);
  });
});
