// Covers: shard/capacity/memoryGuard.ts, shard/capacity/storeGuard.ts
/** The memory guard of a shard and the guard of the store: refused writes, and calls that continue. */
import { expect } from 'chai';
import { MemoryGuard, processMemory } from '../../../../shard/capacity/memoryGuard.js';
import type { StoreGuard } from '../../../../shard/capacity/storeGuard.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { overloaded } from '../../../../shared/errors/overloaded.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { StoreRoom } from '../../../../shared/platform/platform.js';
import { systemMemoryBytes } from '../../../../shared/process/memoryLimit.js';
import { expectCode, rejection } from '../../../support/expectations.js';
import { configOf, Engine, fixed, memoryGuardOf, soon, storeGuardOf } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

describe('the memory guard of a shard', () => {
  it('refuses writes from 85 % on, and accepts them again below 80 %', () => {
    let used = 0;
    const guard = memoryGuardOf(() => used);
    const isFullAt = (percent: number): boolean => {
      used = percent;
      guard.sample();
      return guard.isFull;
    };
    expect([50, 84, 85, 90, 80, 79, 84].map(isFullAt)).to.deep.equal([false, false, true, true, true, false, false]);
    isFullAt(85);
    expect(() => guard.assertMayWrite())
      .to.throw()
      .that.includes({ code: 'unavailable', retryAfterSecs: 1, reason: 'memory' });
  });

  it('compares the JavaScript heap with its own limit', () => {
    let heapBytes = 80;
    let ms = 0;
    const guard = new MemoryGuard({
      limitBytes: 1_000,
      read: () => ({ usedBytes: 0, heapBytes, heapLimitBytes: 100 }),
      refusal: () => overloaded('memory'),
      clock: { nowMs: () => 0, monotonicMs: () => ms },
      logger: silentLogger,
    });
    expect(guard.isFull).to.equal(false);
    heapBytes = 90;
    expect(guard.isFull, 'a reading counts for 100 ms').to.equal(false);
    ms = 100;
    expect(guard.isFull).to.equal(true);
  });

  it('opens no collection that would not fit, and counts the ones being opened', async () => {
    const guard = memoryGuardOf(() => 50);
    let end: () => void = () => undefined;
    const first = guard.opening(30, () => new Promise<void>((resolve) => (end = resolve)));
    expect(guard.usedBytes).to.equal(80);
    const refused = guard.opening(12, async () => 'opened').catch((error: { code: string }) => error.code);
    expect(await refused).to.equal('unavailable');
    end();
    await first;
    expect(await guard.opening(12, async () => 'opened')).to.equal('opened');
    expect(guard.usedBytes).to.equal(50);
  });

  it('reads the memory of this process, which is below that of the system', () => {
    const { usedBytes, heapBytes, heapLimitBytes } = processMemory(() => 0);
    expect(usedBytes).to.be.within(20e6, systemMemoryBytes());
    expect(heapBytes).to.be.within(5e6, heapLimitBytes);
    expect(processMemory(() => -1e15).usedBytes).to.equal(0);
  });

  it('lets a collection search, delete and shred, and refuses every call that makes it grow', async () => {
    let used = 0;
    const memoryGuard = memoryGuardOf(() => used);
    const collection = new Engine(new ScriptedLogs(), { memoryGuard }).host(configOf(1));
    await collection.insert([1, 2]);
    await collection.insert([3, 4]);
    await collection.write({ op: 'addNode', kind: 1, recordId: null });
    used = 91;
    memoryGuard.sample();
    const keyId = 'ab'.repeat(16);
    for (const write of [
      () => collection.insert([5, 6]),
      () => collection.batch([[5, 6]]),
      () => collection.write({ op: 'updateMetadata', id: 1, metadata: Buffer.from('{}') }),
      () => collection.write({ op: 'insertEncrypted', payload: Buffer.from('x'), tag: 0, keyId, requestId: null }),
      () => collection.write({ op: 'addNode', kind: 1, recordId: 1 }),
      () => collection.write({ op: 'addEdge', kind: 1, from: 1, to: 1 }),
      () => collection.hosted.run({ op: 'importFrames', frames: [], upTo: 1 }, soon()),
    ])
      await expectCode(write(), 'unavailable');
    expect(await collection.found()).to.deep.equal([1, 2]);
    await collection.write({ op: 'softDelete', id: 1 });
    await collection.write({ op: 'delete', id: 1 });
    await collection.write({ op: 'deleteNode', id: 1 });
    await collection.write({ op: 'shredKey', keyId });
    expect(await collection.found()).to.deep.equal([2]);
    used = 60;
    memoryGuard.sample();
    expect(await collection.insert([5, 6])).to.include({ id: 3 });
  });

  it('stops a restarted shard with little memory from opening more than it has room for', async () => {
    const logs = new ScriptedLogs();
    const reached = new MemoryBucket({ logger: silentLogger });
    const first = new Engine(logs, { reached, notesEveryMs: 1 }).host(configOf(1));
    await first.insert([1, 2]);
    await first.hosted.close({ keep: true });
    let used = 91;
    const memoryGuard = memoryGuardOf(() => used);
    const again = new Engine(logs, { reached, memoryGuard }).host(configOf(1));
    await expectCode(again.found(), 'unavailable');
    expect(again.hosted.openCollection).to.equal(undefined);
    // The record takes more than the guard's 100 bytes, so it opens only with more memory.
    used = -1_000;
    memoryGuard.sample();
    expect(await again.found()).to.deep.equal([1]);
  });
});

/** The fate of an append that fails so. */
function failing(error: Error): Promise<never> {
  const fate = Promise.reject(error);
  // It is awaited only when the append comes.
  fate.catch(() => undefined);
  return fate;
}

describe('the store guard', () => {
  const guardOf = async (parts: Record<string, number>, used: () => number): Promise<StoreGuard> => {
    const quota = new MemoryBucket({ logger: silentLogger });
    for (const [project, bytes] of Object.entries(parts)) {
      // One ledger of records and one of bytes; the first does not count.
      await quota.create(project, { 1: 1_000_000 });
      await quota.create(`${project}.bytes`, { 1: bytes - 1, 2: 1 });
    }
    const guard = storeGuardOf(used);
    await guard.start(quota);
    return guard;
  };
  const writers = async (guard: StoreGuard, projects: readonly string[]): Promise<string[]> => {
    const outcomes = await Promise.allSettled(projects.map(async (project) => guard.room(project)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).to.include({ code: 'capacity_exceeded', status: 507 });
    return projects.filter((_, i) => outcomes[i]?.status === 'fulfilled');
  };

  it('refuses projects at or above their fair share from 85 % on, and all from 95 % on', async () => {
    let used = 84;
    const projects = ['large', 'fair', 'small', 'new'];
    const guard = await guardOf({ large: 170, fair: 100, small: 30 }, () => used);
    expect(await writers(guard, projects)).to.deep.equal(projects);
    expect(guard.isFull).to.equal(false);
    used = 85;
    await guard.sample();
    expect(await writers(guard, projects)).to.deep.equal(['small', 'new']);
    expect(guard.isFull).to.equal(true);
    const { message } = await rejection(guard.room('large') as Promise<void>);
    expect(message).to.contain('the store of the service is 85 % full, and the project has more');
    used = 95;
    await guard.sample();
    expect(await writers(guard, projects)).to.deep.equal([]);
    used = 40;
    expect(await writers(guard, projects)).to.deep.equal(projects);
    await guard.stop();
  });

  it('follows the reservations of projects', async () => {
    const quota = new MemoryBucket({ logger: silentLogger });
    const guard = storeGuardOf(() => 90);
    await guard.start(quota);
    await quota.create('a.bytes', { 1: 100 });
    const revision = await quota.create('b.bytes', { 2: 10 });
    await quota.create('c.bytes', { 3: 10 });
    expect(await writers(guard, ['a', 'b', 'c'])).to.deep.equal(['b', 'c']);
    await quota.update('b.bytes', { 2: 1_000 }, revision!);
    expect(await writers(guard, ['a', 'b', 'c'])).to.deep.equal(['a', 'c']);
    await guard.stop();
  });

  it('is off without a limit, and keeps its last reading while the store does not answer', async () => {
    const quota = new MemoryBucket({ logger: silentLogger });
    let answer: () => StoreRoom = () => ({ usedBytes: 90, freeBytes: undefined });
    const guard = storeGuardOf(() => answer(), 0);
    await guard.start(quota);
    await quota.create('a.bytes', { 1: 90 });
    expect(await writers(guard, ['a'])).to.deep.equal(['a']);
    // The disk of a standalone node: bytes of its projects, and free bytes.
    answer = () => ({ usedBytes: undefined, freeBytes: 10 });
    await guard.sample();
    expect([guard.usedBytes, guard.limitBytes]).to.deep.equal([90, 100]);
    expect(await writers(guard, ['a'])).to.deep.equal([]);
    answer = () => {
      throw unavailable('no answer');
    };
    await guard.sample();
    expect(guard.limitBytes).to.equal(100);
    await guard.stop();
  });

  it('counts a full disk as a full store, whatever bound the operator has set', async () => {
    const quota = new MemoryBucket({ logger: silentLogger });
    await quota.create('a.bytes', { 1: 10 });
    let freeBytes = 90;
    const guard = storeGuardOf(() => ({ usedBytes: undefined, freeBytes }), 1_000);
    await guard.start(quota);
    expect(await writers(guard, ['a'])).to.deep.equal(['a']);
    freeBytes = 0;
    await guard.sample();
    expect([guard.isFull, guard.limitBytes]).to.deep.equal([true, 10]);
    expect(await writers(guard, ['a'])).to.deep.equal([]);
    await guard.stop();
  });

  it('counts a full disk as a full store before any project has written', async () => {
    const guard = storeGuardOf(() => ({ usedBytes: undefined, freeBytes: 0 }), 0);
    await guard.start(new MemoryBucket({ logger: silentLogger }));
    expect(guard.isFull).to.equal(true);
    await guard.stop();
  });

  it('accepts the first write after room was made', async () => {
    let used = 99;
    const guard = storeGuardOf(() => used);
    await guard.start(new MemoryBucket({ logger: silentLogger }));
    await expectCode(guard.room('a') as Promise<void>, 'capacity_exceeded');
    used = 50;
    await guard.room('a');
    expect([guard.isFull, guard.room('a')]).to.deep.equal([false, undefined]);
    await guard.stop();
  });

  it('is full after a write found no room in a store of unknown size', async () => {
    const storeGuard = storeGuardOf(() => ({ usedBytes: 0, freeBytes: undefined }), 0);
    const logs = new ScriptedLogs();
    const collection = new Engine(logs, { storeGuard }).host(configOf(1));
    for (const [cause, isFull] of [
      [new Error('of another kind'), false],
      [Object.assign(new Error('write'), { code: 'ENOSPC' }), true],
    ] as const) {
      logs.fates.push(failing(unavailable('the log is out of reach', cause)));
      await expectCode(collection.insert([1, 2]), 'unavailable');
      expect(storeGuard.isFull, cause.message).to.equal(isFull);
    }
    await collection.insert([1, 2]);
    expect(storeGuard.isFull).to.equal(false);
  });

  it('reads the use of the store in each round with writes or refusals, and otherwise in every tenth', async () => {
    let reads = 0;
    let used = 50;
    const guard = storeGuardOf(() => {
      reads++;
      return used;
    });
    const readsIn = async (rounds: number): Promise<number> => {
      const before = reads;
      for (let i = 0; i < rounds; i++) await guard.round();
      return reads - before;
    };
    await guard.start(new MemoryBucket({ logger: silentLogger }));
    expect(await readsIn(9)).to.equal(0);
    expect(await readsIn(11)).to.equal(2);
    await guard.room('a');
    expect(await readsIn(3)).to.equal(1);
    await guard.room('a');
    used = 90;
    expect(await readsIn(3)).to.equal(3);
    await guard.stop();
  });

  it('accepts deletes and shreds of a collection when the store is full', async () => {
    let used = 0;
    const storeGuard = storeGuardOf(() => used);
    await storeGuard.start(new MemoryBucket({ logger: silentLogger }));
    const collection = new Engine(new ScriptedLogs(), { storeGuard }).host(configOf(1));
    await collection.insert([1, 2]);
    used = 99;
    await storeGuard.sample();
    await expectCode(collection.insert([1, 2]), 'capacity_exceeded');
    const query = fixed(0, 0);
    expect(await collection.hosted.run({ op: 'search', query, k: 1 }, soon())).to.have.property('ids');
    await collection.write({ op: 'delete', id: 1 });
    await collection.write({ op: 'shredKey', keyId: 'ab'.repeat(16) });
    expect(await collection.records()).to.equal(0);
    await storeGuard.stop();
  });
});
