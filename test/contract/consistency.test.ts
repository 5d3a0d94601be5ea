/** Searches that accept a slightly older copy, and name the state they saw. */
import { expect } from 'chai';
import { inBothModes } from '../support/launch/modes.js';
import { type Project, Service } from '../support/launch/service.js';
import { seededRandom, testSeed } from '../support/model/random.js';

async function fill(project: Project, name: string, count: number): Promise<void> {
  await project.rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
  const batch = Array.from({ length: count }, (_, i) => [i]);
  expect((await project.rw.post('/v1/vectors/batch-insert', { collection: name, batch })).status).to.equal(200);
}

inBothModes('consistency of a search', (service) => {
  let project: Project;
  before(async () => {
    project = await service.newProject();
    await fill(project, 'a', 3);
    await fill(project, 'b', 2);
  });

  const search = (more: object) => project.ro.post('/v1/search', { collection: 'a', query: [0], k: 2, ...more });
  const multi = (more: object) =>
    project.ro.post('/v1/search/multi', { collections: ['a', 'b', 'a'], query: [0], k: 2, ...more });

  it('a strong answer has no new fields, whether strong is named or not', async () => {
    for (const more of [{}, { consistency: 'strong' }, { consistency: null }]) {
      expect((await search(more)).body).to.have.all.keys('results');
      expect((await multi(more)).body).to.have.all.keys('results', 'collections_searched');
    }
  });

  it('an eventual answer names the number of events in its state', async () => {
    const { results } = (await search({})).body;
    const eventual = await search({ consistency: 'eventual' });
    expect(eventual.status, eventual.text).to.equal(200);
    expect(eventual.body).to.deep.equal({ results, sequence: 3 });
    const { body } = await multi({ consistency: 'eventual' });
    expect(body.sequences).to.deep.equal({ a: 3, b: 2 });
    expect(body.results).to.deep.equal((await multi({})).body.results);
  });

  it('linearizable means strong, and local means eventual', async () => {
    for (const ask of [search, multi])
      for (const [name, known] of [
        ['linearizable', 'strong'],
        ['local', 'eventual'],
      ]) {
        const answer = await ask({ consistency: name });
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body).to.deep.equal((await ask({ consistency: known })).body);
      }
    expect((await search({ consistency: 'local' })).body).to.have.property('sequence', 3);
    expect((await multi({ consistency: 'local' })).body).to.have.deep.property('sequences', { a: 3, b: 2 });
  });

  it('a past state may be searched with any consistency', async () => {
    const past = { as_of_log_index: 2 };
    const strong = (await search(past)).body;
    const { sequence, ...eventual } = (await search({ ...past, consistency: 'eventual' })).body;
    expect(eventual).to.deep.equal(strong);
    expect(eventual.as_of_log_index).to.equal(2);
    expect(sequence).to.be.within(2, 3);
  });

  it('any other value is refused', async () => {
    for (const ask of [search, multi])
      for (const consistency of ['', 'Strong', 'Local', 'weak', 1, true, {}]) {
        const { status, body } = await ask({ consistency });
        expect([status, body.code]).to.deep.equal([400, 'validation_error']);
        expect(body.error).to.include('$.consistency');
      }
  });
});

describe('consistency with followers', () => {
  let service: Service;
  let project: Project;
  before(async () => {
    service = await Service.start('cluster', { VOUCH_FOLLOWERS: '1', VOUCH_FOLLOWERS_STALE_MS: '5000' });
    project = await service.newProject();
    await fill(project, 'a', 10);
  });
  after(() => service?.stop());

  const byFollowers = () => service.metric('vouch_eventual_reads_total', 'by="follower"');
  const eventual = (query: number) =>
    project.ro.post('/v1/search', { collection: 'a', query: [query], k: 5, consistency: 'eventual' });

  it("a follower's answer is exactly the state after the number of events that it names", async () => {
    await service.until(async () => {
      await eventual(0);
      return (await byFollowers()) > 0;
    });
    const random = seededRandom(testSeed());
    const answers: { query: number; body: { results: unknown; sequence: number } }[] = [];
    let last = 10;
    for (let i = 0; i < 60; i++) {
      const written = await project.rw.post('/v1/records', { collection: 'a', values: [random.int(100)] });
      last = written.body.receipt.sequence;
      const query = random.int(100);
      const { status, body } = await eventual(query);
      expect(status).to.equal(200);
      expect(body.sequence).to.be.within(10, last);
      answers.push({ query, body });
    }
    for (const { query, body } of answers) {
      const { results, sequence } = body;
      const past = { collection: 'a', query: [query], k: 5, as_of_log_index: sequence };
      expect((await project.ro.post('/v1/search', past)).body.results).to.deep.equal(results);
    }
    await service.until(async () => (await eventual(0)).body.sequence === last);
    expect(await byFollowers()).to.be.above(1);
  });

  it('a follower takes strong searches of a busy owner, and finds each earlier answered write', async () => {
    const strongBy = (who: string): Promise<number> => service.metric('vouch_strong_searches_total', `by="${who}"`);
    const search = (query: number) => project.ro.post('/v1/search', { collection: 'a', query: [query], k: 5 });
    const lone = await strongBy('follower');
    for (let i = 0; i < 20; i++) expect((await search(i)).status).to.equal(200);
    expect(await strongBy('follower'), 'the owner answers a lone one').to.equal(lone);
    for (let i = 1; i <= 30; i++) {
      const written = await project.rw.post('/v1/records', { collection: 'a', values: [1_000 * i] });
      const answers = await Promise.all(Array.from({ length: 40 }, () => search(1_000 * i)));
      for (const { status, body } of answers) {
        expect(status).to.equal(200);
        expect(body).to.have.all.keys('results');
        expect(body.results[0]).to.deep.equal({ id: written.body.id, score: 0 });
      }
    }
    await service.until(async () => (await strongBy('follower')) > lone);
  });

  it('the owner answers while its follower is frozen', async () => {
    const [entry] = (await service.ownerships()).values();
    const [follower] = entry!.followers;
    const strong = { collection: 'a', query: [0], k: 5 };
    service.process(follower!).signal('SIGSTOP');
    const many = Promise.all(Array.from({ length: 40 }, () => project.ro.post('/v1/search', strong)));
    for (let i = 0; i < 5; i++) {
      const { status, body } = await eventual(0);
      expect([status, body.results.length]).to.deep.equal([200, 5]);
    }
    for (const { status, body } of await many) expect([status, body.results.length]).to.deep.equal([200, 5]);
    service.process(follower!).signal('SIGCONT');
  });
});
