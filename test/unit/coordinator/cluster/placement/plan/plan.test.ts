// Covers: coordinator/cluster/placement/plan/
/** The decisions of placement: pure functions, tested on clusters that are plain data. */
import { expect } from 'chai';
import { followersWanted, planFollowers } from '../../../../../../coordinator/cluster/placement/plan/followers.js';
import { planHomes } from '../../../../../../coordinator/cluster/placement/plan/homes.js';
import { planMoves } from '../../../../../../coordinator/cluster/placement/plan/moves.js';
import type {
  PlacedCollection,
  PlacementView,
  ShardView,
} from '../../../../../../coordinator/cluster/placement/plan/view.js';
import { seededRandom, testSeed } from '../../../../../support/model/random.js';

const MOST = 10_000;

interface Shards {
  readonly [name: string]: 'stays' | 'leaves' | 'new' | 'silent' | 'lost' | 'gone';
}

/** A cluster as plain data. `apply` carries out a plan. */
class Cluster {
  readonly collections = new Map<number, PlacedCollection>();
  readonly moving = new Map<number, string>();
  readonly mistrusted = new Set<string>();

  constructor(public shards: Shards) {}

  add(count: number, owner: string | undefined, more: Partial<PlacedCollection> = {}): void {
    for (let i = 0; i < count; i++) {
      const id = this.collections.size + 1;
      this.collections.set(id, { id, owner, followers: [], followersWanted: 0, resting: false, ...more });
    }
  }

  get view(): PlacementView {
    const live = Object.entries(this.shards)
      .filter(([, how]) => how === 'stays' || how === 'leaves' || how === 'new')
      .map(([name, how]): [string, ShardView] => [name, { name, leaving: how === 'leaves', settled: how !== 'new' }]);
    return {
      live: new Map(live),
      collections: [...this.collections.values()],
      moving: this.moving,
      isLost: (shard) => this.shards[shard] === 'lost' || this.isGone(shard),
      isGone: (shard) => this.isGone(shard),
      isMistrusted: (shard, id) => this.mistrusted.has(`${id} ${shard}`),
    };
  }

  isGone(shard: string): boolean {
    return this.shards[shard] === undefined || this.shards[shard] === 'gone';
  }

  change(id: number, change: Partial<PlacedCollection>): void {
    this.collections.set(id, { ...this.collections.get(id)!, ...change });
  }

  settle(): void {
    for (let round = 0; round < 50; round++) {
      const homes = planHomes(this.view);
      for (const { collectionId, shard } of homes) this.own(collectionId, shard);
      const moves = planMoves(this.view, 7);
      for (const { collectionId, from, to } of moves) {
        expect(this.collections.get(collectionId)?.owner).to.equal(from);
        this.own(collectionId, to);
      }
      const changes = planFollowers(this.view, MOST);
      for (const { collectionId, followers } of changes) this.change(collectionId, { followers });
      if (homes.length + moves.length + changes.length === 0) return;
    }
    throw new Error('the plans never come to an end');
  }

  own(id: number, owner: string): void {
    const { followers } = this.collections.get(id)!;
    this.change(id, { owner, followers: followers.filter((shard) => shard !== owner) });
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { owner } of this.collections.values()) counts[owner ?? 'none'] = (counts[owner ?? 'none'] ?? 0) + 1;
    return counts;
  }
}

describe('the plan of placement', () => {
  it('gives new collections to the least loaded shard that stays', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'leaves', s3: 'new' });
    cluster.add(3, 's1');
    cluster.add(5, undefined);
    for (const { collectionId, shard } of planHomes(cluster.view)) cluster.own(collectionId, shard);
    expect(cluster.counts()).to.deep.equal({ s1: 4, s3: 4 });
    cluster.shards = { s2: 'leaves' };
    cluster.add(1, undefined);
    expect(planHomes(cluster.view), 'no shard stays').to.deep.equal([]);
  });

  it("gives a lost shard's collections to sound followers, or else to the least loaded shard", () => {
    const cluster = new Cluster({ s1: 'lost', s2: 'stays', s3: 'stays', s4: 'silent', s5: 'leaves' });
    cluster.add(4, 's3');
    cluster.add(1, 's1', { followers: ['s3'] });
    cluster.add(1, 's1', { followers: ['s4', 's5'] });
    cluster.add(1, 's1', { followers: ['s3', 's2'] });
    cluster.add(1, 's1', { followers: ['s3'] });
    cluster.mistrusted.add('8 s3');
    expect(planHomes(cluster.view)).to.deep.equal([
      { collectionId: 5, shard: 's3' },
      { collectionId: 6, shard: 's2' },
      { collectionId: 7, shard: 's2' },
      { collectionId: 8, shard: 's2' },
    ]);
  });

  it('leaves a briefly silent shard all its collections', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'stays', s3: 'stays' });
    cluster.add(10, 's1');
    cluster.add(10, 's2', { followers: ['s3'], followersWanted: 1 });
    cluster.add(10, 's3');
    for (const how of ['silent', 'new', 'stays'] as const) {
      cluster.shards = { ...cluster.shards, s3: how };
      expect(
        [planHomes(cluster.view), planMoves(cluster.view, MOST), planFollowers(cluster.view, MOST)],
        how,
      ).to.deep.equal([[], [], []]);
    }
  });

  it('gives a new shard its share once it has lived for a while, with few moves', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'stays', s3: 'new' });
    cluster.add(15, 's1');
    cluster.add(16, 's2');
    expect(planMoves(cluster.view, MOST)).to.deep.equal([]);
    cluster.shards = { ...cluster.shards, s3: 'stays' };
    const moves = planMoves(cluster.view, MOST);
    expect(moves.every(({ to }) => to === 's3')).to.equal(true);
    expect(moves).to.have.length(10);
    expect(planMoves(cluster.view, 3), 'the first of them').to.deep.equal(moves.slice(0, 3));
    cluster.settle();
    expect(Object.values(cluster.counts()).sort()).to.deep.equal([10, 10, 11]);
  });

  it('chooses moves independently of age, and skips collections that rest or move', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'stays' });
    cluster.add(200, 's1');
    const ids = planMoves(cluster.view, MOST).map(({ collectionId }) => collectionId);
    expect(ids).to.have.length(100);
    const old = ids.filter((id) => id <= 100).length;
    expect(old).to.be.within(35, 65);
    for (const id of ids.slice(0, 50)) cluster.moving.set(id, 's2');
    for (const id of ids.slice(50, 60)) cluster.change(id, { resting: true });
    const next = planMoves(cluster.view, MOST).map(({ collectionId }) => collectionId);
    expect(next).to.have.length(50);
    expect(next.filter((id) => ids.slice(0, 60).includes(id))).to.deep.equal([]);
  });

  it('takes everything from a draining shard, resting collections too, even if one shard remains', () => {
    const cluster = new Cluster({ s1: 'leaves', s2: 'stays', s3: 'leaves' });
    cluster.add(5, 's1');
    cluster.add(2, 's2');
    cluster.add(1, 's3', { resting: true });
    cluster.settle();
    expect(cluster.counts()).to.deep.equal({ s2: 8 });
    cluster.shards = { s2: 'leaves' };
    expect(planMoves(cluster.view, MOST), 'no shard is left').to.deep.equal([]);
  });

  it('prefers a follower for a collection that leaves, unless that shard becomes much fuller', () => {
    const cluster = new Cluster({ s1: 'leaves', s2: 'stays', s3: 'stays' });
    cluster.add(2, 's3');
    cluster.add(4, 's1', { followers: ['s2'] });
    cluster.add(1, 's1', { followers: ['s3'] });
    const moves = planMoves(cluster.view, MOST);
    expect(moves.map(({ to }) => to)).to.deep.equal(['s2', 's2', 's2', 's2', 's3']);
  });

  it('assigns as many followers as wanted or possible, evenly spread, never the owner', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'stays', s3: 'stays', s4: 'leaves' });
    for (let i = 0; i < 60; i++) cluster.add(1, `s${1 + (i % 3)}`, { followersWanted: 1 });
    cluster.settle();
    const followed = [...cluster.collections.values()].map(({ followers }) => followers);
    expect(followed.every(({ length }) => length === 1)).to.equal(true);
    for (const shard of ['s1', 's2', 's3'])
      expect(followed.filter(([one]) => one === shard)).to.have.length.within(19, 21);
    for (const { owner, followers } of cluster.collections.values()) expect(followers).not.to.include(owner);
    for (const id of cluster.collections.keys()) cluster.change(id, { followersWanted: 16 });
    cluster.settle();
    for (const { followers } of cluster.collections.values()) expect(new Set(followers).size).to.equal(2);
  });

  it('replaces a follower when its shard is gone for good, drains, or has a wrong copy', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'silent', s3: 'stays' });
    cluster.add(1, 's1', { followers: ['s2'], followersWanted: 1 });
    for (const how of ['silent', 'lost'] as const) {
      cluster.shards = { ...cluster.shards, s2: how };
      expect(planFollowers(cluster.view, MOST), how).to.deep.equal([]);
    }
    const replaced = [{ collectionId: 1, followers: ['s3'] }];
    for (const how of ['gone', 'leaves'] as const) {
      cluster.shards = { ...cluster.shards, s2: how };
      expect(planFollowers(cluster.view, MOST), how).to.deep.equal(replaced);
    }
    cluster.shards = { ...cluster.shards, s2: 'stays' };
    cluster.mistrusted.add('1 s2');
    expect(planFollowers(cluster.view, MOST)).to.deep.equal(replaced);
    cluster.mistrusted.add('1 s3');
    expect(planFollowers(cluster.view, MOST), 'rather none than a wrong one').to.deep.equal([
      { collectionId: 1, followers: [] },
    ]);
  });

  it('undoes the remains of an interrupted move, and keeps the followers that a current move needs', () => {
    const cluster = new Cluster({ s1: 'stays', s2: 'stays', s3: 'stays' });
    cluster.add(1, 's1', { followers: ['s2'] });
    cluster.add(1, 's2', { followers: ['s3', 's1'], followersWanted: 1 });
    cluster.add(1, 's3', { followers: ['s1'] });
    cluster.moving.set(3, 's1');
    expect(planFollowers(cluster.view, MOST)).to.deep.equal([
      { collectionId: 1, followers: [] },
      { collectionId: 2, followers: ['s3'] },
    ]);
  });

  it('settles for any mixture of shards and collections: even, followed, nothing on draining shards', () => {
    const random = seededRandom(testSeed());
    for (let i = 0; i < 60; i++) {
      const names = Array.from({ length: 1 + random.int(6) }, (_, n) => `s${n + 1}`);
      const shards: Record<string, Shards[string]> = { s1: 'stays' };
      for (const name of names.slice(1)) shards[name] = random.pick(['stays', 'stays', 'leaves', 'lost', 'gone']);
      const cluster = new Cluster(shards);
      for (let n = random.int(60); n > 0; n--)
        cluster.add(1, random.pick([...names, undefined]), {
          followers: names.filter(() => random.int(3) === 0),
          followersWanted: random.int(4),
        });
      for (const { id, owner } of cluster.collections.values()) if (owner !== undefined) cluster.own(id, owner);
      cluster.settle();
      const staying = names.filter((name) => shards[name] === 'stays');
      const counts = staying.map((name) => cluster.counts()[name] ?? 0);
      expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(cluster.collections.size);
      expect(Math.max(...counts) - Math.min(...counts)).to.be.at.most(1);
      for (const { owner, followers, followersWanted: wanted } of cluster.collections.values()) {
        const present = followers.filter((shard) => staying.includes(shard));
        expect(followers).to.have.length.at.most(wanted);
        expect(followers).not.to.include(owner);
        expect(present.length + followers.filter((shard) => shards[shard] === 'lost').length).to.equal(
          Math.min(wanted, followers.length),
        );
        expect(followers.length).to.be.at.least(Math.min(wanted, staying.length - 1));
      }
    }
  });

  it("prefers a collection's own number of followers to its project's, and that to the default", () => {
    const followers = { count: 1, staleMs: 1, projects: { p: 2 }, collections: { 'p/c': 0, 'q/c': 3 } };
    const wanted = (project: string, name: string): number => followersWanted(followers, { project, name });
    expect([wanted('p', 'c'), wanted('p', 'd'), wanted('q', 'c'), wanted('q', 'd')]).to.deep.equal([0, 2, 3, 1]);
  });

  it('costs little CPU time for thousands of collections', () => {
    const cluster = new Cluster(Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`s${i + 1}`, 'stays'])));
    for (let i = 0; i < 8; i++)
      cluster.add(625, `s${i + 1}`, { followers: [`s${((i + 1) % 8) + 1}`], followersWanted: 1 });
    const { view } = cluster;
    const begun = process.cpuUsage();
    for (let i = 0; i < 20; i++)
      expect([planHomes(view), planMoves(view, MOST), planFollowers(view, MOST)]).to.deep.equal([[], [], []]);
    const { user } = process.cpuUsage(begun);
    console.log(`      a round over 5,000 collections takes ${(user / 20_000).toFixed(2)} ms of CPU`);
  });
});
