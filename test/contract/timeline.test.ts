// Covers: coordinator/handlers/proofs.ts
/** The timeline over HTTP: every event once, in order, by time and in pages. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';

/** Also requested through the package. */
const ROUTES = ['GET /v1/timeline'] as const;

inBothModesAndThroughClient('the timeline', ROUTES, (service) => {
  let project: Project;
  const get = (query = '') => project.ro.get(`/v1/timeline?collection=c&${query}`);
  const page = async (query = '') => {
    const answer = await get(query);
    expect(answer.status, `${query}: ${answer.text}`).to.equal(200);
    return answer.body;
  };
  const indices = async (query: string) => {
    const { events, total } = await page(query);
    return [events.map(({ log_index }: { log_index: number }) => log_index), total];
  };
  const post = async (path: string, body: object) => {
    const answer = await project.rw.post(path, { collection: 'c', ...body });
    expect(answer.status, answer.text).to.equal(200);
  };
  const tick = async (): Promise<void> => {
    const now = systemClock.nowMs();
    await service.until(async () => systemClock.nowMs() > now);
  };

  beforeEach(async () => {
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
  });

  it('names the subject of every kind of event', async () => {
    const fromMs = systemClock.nowMs();
    await post('/v1/records', { values: [1] });
    await post('/v1/vectors/batch-insert', { batch: [[2], [3]] });
    await project.rw.patch('/v1/records/2/metadata?collection=c', { a: 1 });
    await post('/v1/graph/node', { kind: 0, record_id: 2 });
    await post('/v1/graph/node', { kind: 1 });
    await post('/v1/graph/edge', { from: 1, to: 2, kind: 0 });
    await project.rw.delete('/v1/graph/edge/1?collection=c');
    await project.rw.delete('/v1/graph/node/2?collection=c');
    await post('/v1/soft-delete', { id: 1 });
    await post('/v1/delete', { id: 2 });
    const { events, total } = await page();
    expect(total).to.equal(11);
    const about = events.map(
      ({ timestamp_unix, timestamp_iso, shard_id, actor, ...event }: Record<string, unknown>) => {
        expect(shard_id).to.equal(0);
        expect(actor).to.have.all.keys('key_id', 'request_id');
        const timeMs = Date.parse(timestamp_iso as string);
        expect(timeMs).to.be.within(fromMs, systemClock.nowMs());
        expect(timestamp_iso).to.equal(new Date(timeMs).toISOString());
        expect(timestamp_unix).to.equal(Math.floor(timeMs / 1000));
        return event;
      },
    );
    expect(about).to.deep.equal([
      { log_index: 1, event_type: 'insert', record_id: 1 },
      { log_index: 2, event_type: 'insert', record_id: 2 },
      { log_index: 3, event_type: 'insert', record_id: 3 },
      { log_index: 4, event_type: 'update_metadata', record_id: 2 },
      { log_index: 5, event_type: 'add_node', node_id: 1, record_id: 2 },
      { log_index: 6, event_type: 'add_node', node_id: 2 },
      { log_index: 7, event_type: 'add_edge', edge_id: 1 },
      { log_index: 8, event_type: 'delete_edge', edge_id: 1 },
      { log_index: 9, event_type: 'delete_node', node_id: 2 },
      { log_index: 10, event_type: 'soft_delete', record_id: 1 },
      { log_index: 11, event_type: 'delete', record_id: 2 },
    ]);
  });

  it('is read in pages: each event once, over frames of any size', async () => {
    for (let n = 0; n < 3; n++) {
      await post('/v1/records', { values: [n] });
      await post('/v1/vectors/batch-insert', { batch: Array.from({ length: 40 }, (_, i) => [i]) });
    }
    const seen: number[] = [];
    for (let after = 0; ; ) {
      const { events, total } = await page(`limit=17&after=${after}`);
      expect(total).to.equal(123);
      expect(events.length).to.be.at.most(17);
      if (events.length === 0) break;
      seen.push(...events.map(({ log_index }: { log_index: number }) => log_index));
      after = seen.at(-1)!;
    }
    expect(seen).to.deep.equal(Array.from({ length: 123 }, (_, i) => i + 1));
    expect((await page()).events).to.have.length(100);
    expect((await page('limit=1000')).events).to.have.length(123);
    expect(await indices('after=121&limit=1')).to.deep.equal([[122], 123]);
    expect(await indices('after=123')).to.deep.equal([[], 123]);
    expect(await indices('after=900000')).to.deep.equal([[], 123]);
  });

  it('is limited to the requested times, both ends included, to the millisecond', async () => {
    expect(await page()).to.deep.equal({ events: [], total: 0 });
    for (let n = 0; n < 4; n++) {
      await tick();
      await post('/v1/vectors/batch-insert', { batch: [[n], [n]] });
    }
    const { events } = await page();
    const at = (index: number): string => events[index - 1].timestamp_iso;
    const later = (index: number, ms: number): string => new Date(Date.parse(at(index)) + ms).toISOString();
    expect(await indices(`from=${at(3)}&to=${at(6)}`)).to.deep.equal([[3, 4, 5, 6], 4]);
    expect(await indices(`from=${later(3, 1)}&to=${later(7, -1)}`)).to.deep.equal([[5, 6], 2]);
    expect(await indices(`from=${at(3).replace('Z', '001Z')}&to=${at(6).replace('Z', '999Z')}`)).to.deep.equal([
      [5, 6],
      2,
    ]);
    expect(await indices(`from=${at(3)}&after=3&limit=2`)).to.deep.equal([[4, 5], 6]);
    expect(await indices(`to=${later(1, -1)}`)).to.deep.equal([[], 0]);
    expect(await indices(`from=${later(8, 1)}`)).to.deep.equal([[], 0]);
    expect(await indices(`from=${at(6)}&to=${at(3)}`)).to.deep.equal([[], 0]);
    const seconds = events[0].timestamp_unix;
    expect((await page(`from=${seconds}&to=${events[7].timestamp_unix}`)).total).to.equal(8);
    expect((await page(`to=${seconds - 1}`)).total).to.equal(0);
    const zoned = `${new Date(Date.parse(at(3)) + 7_200_000).toISOString().slice(0, -1)}%2B02:00`;
    expect((await page(`from=${zoned}`)).total).to.equal(6);
    for (const zone of ['%2B0200', '%2B02'])
      expect(await page(`from=${zoned.replace('%2B02:00', zone)}`)).to.deep.equal(await page(`from=${zoned}`));
    const minute = `${at(1).slice(0, 16)}Z`;
    expect((await page(`from=${minute}`)).total).to.equal(8);
    expect((await page(`to=${minute}`)).total).to.equal((await page(`to=${minute.replace('Z', ':00.000Z')}`)).total);
  });

  it('refuses invalid parameters, and names them', async () => {
    for (const [query, name] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=x', 'limit'],
      ['after=-1', 'after'],
      ['from=yesterday', 'from'],
      ['from=2026-01-01', 'from'],
      ['from=2026-01-01T00:00:00', 'from'],
      ['to=2026-02-30T00:00:00Z', 'to'],
      ['to=1.5', 'to'],
      ['to=2026-01-01T00:00+24', 'to'],
      ['from=2026-W01-1T00:00Z', 'from'],
    ] as const) {
      const { status, body } = await get(query);
      expect([status, body.code], query).to.deep.equal([400, 'validation_error']);
      expect(body.error, query).to.match(new RegExp(`query parameter ${name}`));
    }
    const stranger = await service.newProject();
    expect((await stranger.ro.get('/v1/timeline?collection=c')).status).to.equal(404);
  });
});
