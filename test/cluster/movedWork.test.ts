/**
 * Work of several calls continues while its collection moves: rebuilds, imports, deletions, searches of the past and of
 * a bounded age.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { type Project, Service } from '../support/launch/service.js';
import { begin, type Exported, exported, fill, finish, send } from '../support/rigs/backups.js';

const INDEXED = ['i0', 'i1', 'i2', 'i3'];
const RECORDS = 500;
/** Pause between the turns of each work. */
const PAUSE_MS = 20;

describe('work in progress while collections move', function () {
  this.timeout(300_000);
  let service: Service;
  let project: Project;
  /** Another project, because a rebuild delays all writes of its own project while it runs. */
  let others: Project;
  let source: Exported;
  let isOver = false;
  const unexpected: string[] = [];
  const done = { rebuilds: 0, imports: 0, lives: 0, searches: 0 };

  const ok = (what: string, { status, text, body }: Answer, ...wanted: number[]): Answer['body'] => {
    if (![200, ...wanted].includes(status)) unexpected.push(`${what}: ${status} ${text}`);
    return body;
  };

  before(async () => {
    service = await Service.start('cluster', { VOUCH_FOLLOWERS: '1' }, { shards: 2, coordinators: 2 });
    project = await service.newProject();
    others = await service.newProject();
    await fill(project.rw, 'source');
    source = await exported(project.rw, 'source');
    for (const name of INDEXED) {
      await project.rw.post('/v1/namespaces', { name, dimension: 3, metric: 'squared_l2', index: 'hnsw' });
      const batch = Array.from({ length: RECORDS }, (_, i) => [i, i % 7, i % 11]);
      ok('fill', await project.rw.post('/v1/vectors/batch-insert', { collection: name, batch }));
    }
  });
  after(() => service?.stop());

  async function rebuildAgain(): Promise<void> {
    const answer = await project.rw.post('/v1/index/rebuild', { index: 'hnsw' });
    ok('rebuild', answer);
    done.rebuilds++;
  }

  async function importAgain(turn: number): Promise<void> {
    const name = `imported${turn}`;
    ok('begin', await begin(project.rw, source, name));
    for (let i = 0; i < source.frames.length; i += 5)
      ok('frames', await send(project.rw, name, source.frames.slice(i, i + 5)));
    const { sequence } = ok('finish', await finish(project.rw, name));
    if (sequence !== source.facts.sequence) unexpected.push(`an import ends at ${sequence}`);
    ok('delete', await project.rw.delete(`/v1/namespaces/${name}`), 204);
    done.imports++;
  }

  /** Creates, fills, searches and deletes a collection. */
  async function liveAgain(turn: number): Promise<void> {
    const name = `short${turn % 3}`;
    ok('create', await others.rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' }));
    for (let i = 1; i <= 5; i++) {
      const { id } = ok('insert', await others.rw.post('/v1/records', { collection: name, values: [i] }));
      if (id !== i) unexpected.push(`record ${i} of a new collection has the id ${id}`);
    }
    ok('delete', await others.rw.delete(`/v1/namespaces/${name}`), 204);
    done.lives++;
  }

  async function searchAgain(turn: number): Promise<void> {
    const there = service.client(project.ro.key, 'coordinator2');
    const collection = INDEXED[turn % INDEXED.length];
    const query = [turn % RECORDS, 0, 0];
    const past = await there.post('/v1/search', { collection, query, k: 3, as_of_log_index: RECORDS });
    if (ok('past search', past).results?.length !== 3) unexpected.push(`a past search finds ${past.text}`);
    const old = await there.post('/v1/search/multi', { collections: INDEXED, query, k: 3, consistency: 'eventual' });
    const { sequences, partial_failures } = ok('eventual search', old);
    if (partial_failures !== undefined) unexpected.push(JSON.stringify(partial_failures));
    if (Object.values(sequences ?? {}).some((sequence) => sequence !== RECORDS))
      unexpected.push(`eventual: ${old.text}`);
    done.searches++;
  }

  it('never fails', async () => {
    const again = async (work: (turn: number) => Promise<void>): Promise<void> => {
      for (let turn = 0; !isOver; turn++) {
        await work(turn).catch((error) => unexpected.push(String(error)));
        await delay(PAUSE_MS);
      }
    };
    const works = [rebuildAgain, importAgain, liveAgain, searchAgain].map(again);
    for (const [joins, leaves] of [
      ['s3', 's1'],
      ['s1', 's2'],
      ['s2', 's3'],
    ] as const) {
      await service.run(joins);
      expect(await service.end(leaves)).to.deep.equal({ code: 0, signal: null });
    }
    await service.until(async () => Object.values(done).every((count) => count > 2));
    isOver = true;
    await Promise.all(works);
    console.log(`      ${JSON.stringify(done)}`);
    expect(unexpected).to.deep.equal([]);
    const moved = ['coordinator', 'coordinator2'].map((name) =>
      service.metric('vouch_placement_moves_total', 'stage="finished"', name),
    );
    expect(Math.max(...(await Promise.all(moved)))).to.be.above(0);
  });
});
