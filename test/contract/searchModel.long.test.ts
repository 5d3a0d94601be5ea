/**
 * Compares hundreds of random searches, with every combination of options, with a slow and simple model of all of
 * search. Between them come writes, which the very next search must reflect. Some searches ask for the past: any
 * earlier state, with records deleted since. To replay a run, set `VOUCH_SEED`. To find the failing option, set
 * `VOUCH_MODEL_OPTIONS`, for example to `filter,text`.
 */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import type { Answer } from '../support/launch/client.js';
import { IndexedByHttp } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { type Answered, assertAnswer, assertExact, assertPast, assertSound } from '../support/model/compare.js';
import { type MultiHit, multiSearch } from '../support/model/multiSearch.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import type { ModelCollection } from '../support/model/records.js';
import type { ModelHit, ModelRequest } from '../support/model/search.js';
import { Generator, OPTIONS, type Option } from '../support/rigs/generate.js';
import { Mirrored } from '../support/rigs/mirrored.js';
import { changeAtRandom, linkAtRandom } from '../support/rigs/writes.js';

const DIMENSION = 3;
const EXACT_RECORDS = 150;
const EXACT_SEARCHES = 300;
/** Records for which a search with decay uses HNSW; the other kinds scan their few records. */
const INDEXED_RECORDS = { hnsw: 6_500, ivf: 1_300, bq: 1_300 } as const;
const INDEXED_SEARCHES = 60;
/** First searches, during which the index may still be built. */
const EARLY_SEARCHES = 20;
const MULTI_SEARCHES = 100;
/** Share of all searches of one collection. */
const PAST_SHARE = 0.3;

const wanted = process.env.VOUCH_MODEL_OPTIONS?.split(',');
const options: ReadonlySet<Option> = new Set(OPTIONS.filter((option) => wanted?.includes(option) ?? true));

inBothModes('search against the model', (service) => {
  let project: Project;
  let seed: number;

  before(() => {
    seed = testSeed();
  });

  beforeEach(async () => {
    project = await service.newProject();
  });

  const generatorOf = (run: number): Generator => new Generator(seededRandom(seed + run), DIMENSION);

  async function collectionOf(generator: Generator, name: string, index: string, count: number): Promise<Mirrored> {
    const collection = new Mirrored(project.rw, name, DIMENSION);
    await collection.create(index);
    const records = Array.from({ length: count }, () => generator.record());
    for (let from = 0; from < count; from += 500) await collection.insertAll(records.slice(from, from + 500));
    for (let i = 0; i < 5; i++) await collection.insert(generator.odd(generator.record()));
    if (options.has('graph')) await linkAtRandom(collection, generator);
    for (let i = 0; i < 60; i++) await changeAtRandom(collection, generator, options);
    return collection;
  }

  async function ask<H extends ModelHit = ModelHit>(path: string, request: object): Promise<Answered<H> & Answer> {
    const fromMs = systemClock.nowMs();
    const answer = await project.ro.post(path, request);
    expect(answer.status, `${JSON.stringify(request)}: ${answer.text}`).to.equal(200);
    return { ...answer, results: answer.body.results, fromMs, toMs: systemClock.nowMs() };
  }

  /** Searches the present, compared by `assertNow`, or the past. */
  async function searchAtRandom(
    collection: Mirrored,
    generator: Generator,
    assertNow: (model: ModelCollection, request: ModelRequest, answered: Answered) => void,
  ): Promise<void> {
    const { name, model, history } = collection;
    const request = generator.request(options);
    const moment = options.has('past') && generator.chance(PAST_SHARE) ? generator.moment(history) : undefined;
    const answered = await ask('/v1/search', { collection: name, ...request, ...moment?.request });
    if (moment === undefined) assertNow(model, request, answered);
    else assertPast(history, moment, request, { ...answered, past: answered.body });
  }

  it('is the same if every record is examined', async () => {
    const generator = generatorOf(0);
    const collection = await collectionOf(generator, 'exact', 'brute', EXACT_RECORDS);
    for (let i = 0; i < EXACT_SEARCHES; i++) {
      if (generator.chance(0.3)) await changeAtRandom(collection, generator, options);
      await searchAtRandom(collection, generator, assertExact);
    }
  });

  for (const [run, kind] of (['hnsw', 'ivf', 'bq'] as const).entries())
    it(`is sound with an index of kind ${kind}`, async () => {
      const generator = generatorOf(1 + run);
      const collection = await collectionOf(generator, kind, kind, INDEXED_RECORDS[kind]);
      for (let i = 0; i < INDEXED_SEARCHES; i++) {
        if (i === EARLY_SEARCHES) await new IndexedByHttp(service, project.ro, kind).settled(kind);
        if (generator.chance(0.3)) await changeAtRandom(collection, generator, options);
        await searchAtRandom(collection, generator, assertSound);
      }
    });

  it('is the same over several collections at once', async () => {
    const generator = generatorOf(4);
    const collections: Mirrored[] = [];
    for (const name of ['b', 'a', 'C']) collections.push(await collectionOf(generator, name, 'brute', 60));
    for (let i = 0; i < MULTI_SEARCHES; i++) {
      if (generator.chance(0.3)) await changeAtRandom(generator.pick(collections), generator, options);
      const { query, k, decay_half_life_secs, metadata_filter } = generator.request(options);
      const chosen = collections.filter(() => generator.chance(0.8));
      const searched = chosen.length === 0 ? collections : chosen;
      const names = searched.map(({ name }) => name);
      const request = { query, k, decay_half_life_secs, metadata_filter };
      const answered = await ask<MultiHit>('/v1/search/multi', { ...request, collections: [...names, names[0]] });
      expect(answered.body.collections_searched).to.deep.equal(names);
      const models = searched.map(({ model }) => model);
      assertAnswer(answered, { ...request, names }, (nowMs) => multiSearch(models, request, nowMs));
    }
  });
});
