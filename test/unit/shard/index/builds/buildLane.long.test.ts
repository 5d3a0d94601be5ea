// Covers: shard/index/builds/jobThread.ts
/** Builds in turns, in real threads: the effect of pauses, cancellations and deaths on other builds. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { Build } from '../../../../../shard/index/builds/buildLane.js';
import type { BuildThread } from '../../../../../shard/index/builds/buildThread.js';
import type { TurnRules } from '../../../../../shard/index/builds/buildTurns.js';
import { Cancelled } from '../../../../../shard/index/progress.js';
import { GenerationStore } from '../../../../../shard/index/store/generationStore.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { Metrics } from '../../../../../shared/metrics/metrics.js';
import { eventually, rejection } from '../../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { newBuildThread, orderOf } from '../../../../support/rigs/generations.js';
import { Modelled, randomVector } from '../../kernel/kernelOracle.js';

const DIMENSION = 64;
const ROWS = 20_000;
/** A build of minutes. */
const HUGE = { kind: 'hnsw', parameters: { m: 128, efConstruction: 4_096 } } as const;
/** A build of some tenths of a second. */
const SMALL = { kind: 'ivf', parameters: { nList: 64 } } as const;
/** Rules with turns so short that each build has many. */
const RULES: TurnRules = {
  places: 4,
  longPlaces: 3,
  longPlacesOfProject: 2,
  trialMs: Number.POSITIVE_INFINITY,
  turnMs: 2,
};

describe('builds that take turns', () => {
  const random = seededRandom(testSeed());
  let rows: Modelled;
  let folder: string;
  let store: GenerationStore;
  let builds: BuildThread;
  let metrics: Metrics;

  before(() => {
    rows = new Modelled(DIMENSION);
    for (let i = 0; i < ROWS; i++) rows.insert(randomVector(random, DIMENSION, 2 ** 20));
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-turns-'));
    store = await GenerationStore.open(folder, silentLogger);
    start(RULES);
  });
  afterEach(async () => {
    await builds.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = (rules: TurnRules): void => {
    metrics = new Metrics('shard');
    builds = newBuildThread({ rules, metrics });
  };
  const build = (project: string, collectionId: number, what: typeof HUGE | typeof SMALL): Build => {
    const order = orderOf(store, rows.vectors, 1, { ...what, collectionId });
    return builds.build(order, { project, urgent: true });
  };
  const folderOf = (collectionId: number): string => store.folderOf(collectionId, 1);
  const read = async (metric: string): Promise<number | undefined> => {
    const lines = (await metrics.texts()).flatMap(({ text }) => text.split('\n'));
    const line = lines.find((each) => each.startsWith(metric));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const underWay = (...of: readonly Build[]): Promise<void> =>
    eventually('the builds to be under way', () => of.every(({ progress }) => progress.done > 0));
  /** Waits until the build has another turn. */
  const expectsTurns = async ({ progress }: Build): Promise<void> => {
    const { done } = progress;
    await eventually('the build continues', () => progress.done > done);
  };

  it('finish a small build before three huge ones of another project', async () => {
    const huge = [1, 2, 3].map((collectionId) => build('a', collectionId, HUGE));
    await underWay(huge[0]!);
    const saved = await build('b', 4, SMALL).done;
    expect(await store.latest(4)).to.deep.equal(saved);
    expect(huge[0]!.progress.done).to.be.below(huge[0]!.progress.total);
    await expectsTurns(huge[0]!);
  });

  it('write the bytes that a build without others writes', async () => {
    const alone = await build('a', 1, SMALL).done;
    const beside = await Promise.all([2, 3, 4].map((id) => build(`p${id}`, id, SMALL).done));
    for (const { payload, rows: saved } of beside)
      expect({ payload, saved }).to.deep.equal({ payload: alone.payload, saved: alone.rows });
  });

  it('are counted as running, paused and waiting', async () => {
    const huge = [build('a', 1, HUGE), build('a', 2, HUGE), build('b', 3, HUGE)];
    await underWay(huge[0]!, huge[2]!);
    const counts = ['running', 'paused', 'waiting'].map((state) => read(`vouch_index_builds{state="${state}"`));
    expect(await Promise.all(counts)).to.deep.equal([1, 1, 1]);
    expect(await read('vouch_index_build_wait_seconds_count{why="requested"')).to.equal(2);
  });

  for (const which of [0, 1])
    it(`end when they are cancelled, running or paused, and leave their turns to others (${which + 1} of 2)`, async () => {
      const both = [build('a', 1, HUGE), build('b', 2, HUGE)];
      await underWay(...both);
      both[which]!.cancel();
      expect(await rejection(both[which]!.done)).to.be.instanceOf(Cancelled);
      expect(existsSync(folderOf(which + 1))).to.equal(false);
      await expectsTurns(both[1 - which]!);
    });

  for (const which of [0, 1])
    it(`survive the death of another build's thread, running or paused (${which + 1} of 2)`, async () => {
      const workers: Worker[] = [];
      const onWorker = (worker: Worker): void => void workers.push(worker);
      process.on('worker', onWorker);
      const both = [build('a', 1, HUGE), build('b', 2, HUGE)];
      await underWay(...both);
      process.off('worker', onWorker);
      await workers[which]!.terminate();
      // Any of the two threads may have started first.
      const dead = await Promise.race(both.map(({ done }, number) => done.then(() => number).catch(() => number)));
      expect((await rejection(both[dead]!.done)).message).to.equal('the build thread died: it was ended');
      expect(existsSync(folderOf(dead + 1))).to.equal(false);
      await expectsTurns(both[1 - dead]!);
      await build('c', 3, SMALL).done;
    });

  it('restart if they take long and get no long place, and write the bytes of an undisturbed build', async () => {
    const alone = await build('a', 1, SMALL).done;
    await builds.close();
    start({ ...RULES, places: 2, longPlaces: 1, trialMs: 20 });
    const huge = build('a', 2, HUGE);
    await underWay(huge);
    const long = build('b', 3, SMALL);
    const { progress } = long;
    await eventually('the build receives the wait', () => long.progress !== progress);
    expect(existsSync(folderOf(3))).to.equal(false);
    huge.cancel();
    expect((await long.done).payload).to.deep.equal(alone.payload);
  });

  it('end when the lane is closed, also paused ones', async () => {
    const all = [build('a', 1, HUGE), build('b', 2, HUGE), build('b', 3, HUGE), build('c', 4, HUGE)];
    await underWay(all[0]!, all[1]!, all[3]!);
    await builds.close();
    for (const { done } of all) expect(await rejection(done)).to.be.instanceOf(Cancelled);
    for (const id of [1, 2, 3, 4]) expect(existsSync(folderOf(id))).to.equal(false);
  });
});
