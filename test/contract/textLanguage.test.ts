// Covers: shared/log/genesisText.ts
/** Collections whose texts are in a language. */
import { expect } from 'chai';
import { LANGUAGES } from '../../shared/model/textLanguage.js';
import { atLength } from '../support/atLength.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { announcement, answered, exported, imported, send } from '../support/rigs/backups.js';

const TEXTS = [
  'The runner runs to the harbour',
  'Policies of the running nations',
  'house, and many houses',
  'nothing of that kind',
];
const ENGLISH = { text: { language: 'english' } };

inBothModesAndThroughClient(
  'a collection with a text language',
  ['POST /v1/namespaces', 'POST /v1/search/text', 'POST /v1/search', 'POST /v1/records/count'],
  (service, { restartable }) => {
    let rw: Client;

    const make = async (client: Client, name: string, more: object = ENGLISH): Promise<Answer['body']> =>
      answered(await client.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2', ...more }));
    const fill = async (client: Client, collection: string, more: object = ENGLISH): Promise<void> => {
      await make(client, collection, more);
      const metadata = TEXTS.map((title) => ({ title, long: `${title} ${'and so on '.repeat(30)}` }));
      const batch = TEXTS.map((_, i) => [i + 1]);
      answered(await client.post('/v1/vectors/batch-insert', { collection, batch, texts: TEXTS, metadata }));
    };
    const idsIn = ({ results }: Answer['body']): number[] => results.map(({ id }: { id: number }) => id);
    const textIds = async (query_text: string, more: object = {}, client = rw): Promise<number[]> =>
      idsIn(answered(await client.post('/v1/search/text', { collection: 'c', query_text, k: 10, ...more })));
    const matching = async (filter: object): Promise<number[]> => {
      const metadata_filter = filter as Record<string, never>;
      const { records } = answered(await rw.post('/v1/records/list', { collection: 'c', metadata_filter }));
      const ordered = answered(
        await rw.post('/v1/records/list', { collection: 'c', metadata_filter, order_by: 'none' }),
      );
      const { count } = answered(await rw.post('/v1/records/count', { collection: 'c', metadata_filter }));
      const ids = idsIn({ results: records });
      expect([idsIn({ results: ordered.records }), count]).to.deep.equal([ids, ids.length]);
      return ids;
    };

    beforeEach(async () => {
      ({ rw } = await service.newProject());
    });

    it('finds texts by the stems of their words, and none by a stop word', async () => {
      await fill(rw, 'c');
      expect(await textIds('run')).to.have.members([1, 2]);
      expect(await textIds('policy house')).to.deep.equal([3, 2]);
      expect(await textIds('the of and')).to.deep.equal([]);
      await fill(rw, 'plain', {});
      expect(await textIds('run', { collection: 'plain' })).to.deep.equal([]);
      expect(await textIds('the', { collection: 'plain' })).to.have.members([1, 2]);
    });

    it('scores a text by the BM25 of its stems', async () => {
      await fill(rw, 'c');
      const scored = async (query_text: string): Promise<unknown> =>
        answered(await rw.post('/v1/search/text', { collection: 'c', query_text, k: 1 })).results;
      // Three terms: "hous", "mani" and "hous". The texts have 3, 3, 3 and 2 terms.
      const idf = Math.log(1 + (4 - 1 + 0.5) / 1.5);
      const text_score = (idf * 2 * 2.5) / (2 + 1.5 * (0.25 + (0.75 * 3) / 2.75));
      expect(await scored('housing')).to.deep.equal([{ id: 3, text_score }]);
    });

    it('reranks the hits of a vector, and draws candidates from all texts with hybrid', async () => {
      await fill(rw, 'c');
      const search = async (more: object): Promise<number[]> =>
        idsIn(answered(await rw.post('/v1/search', { collection: 'c', query: [4], k: 4, ...more })));
      expect(await search({})).to.deep.equal([4, 3, 2, 1]);
      expect((await search({ query_text: 'housed' }))[0]).to.equal(3);
      expect(await search({ query_text: 'runs', k: 1, hybrid: { text_weight: 1 } })).to.deep.equal([2]);
      const batched = answered(
        await rw.post('/v1/search/batch', { collection: 'c', searches: [{ query: [4], k: 1, query_text: 'housed' }] }),
      );
      expect(idsIn({ results: batched.answers[0].results })).to.deep.equal([3]);
    });

    it('filters by the stems of words, in texts and in metadata, short and long', async () => {
      await fill(rw, 'c');
      for (const key of ['$text', 'title', 'long']) {
        expect(await matching({ [key]: { words: { all: 'nation policy' } } }), key).to.deep.equal([2]);
        expect(await matching({ [key]: { words: { any: 'house runs' } } }), key).to.deep.equal([1, 2, 3]);
        expect(await matching({ [key]: { words: { phrase: 'running to harbours' } } }), key).to.deep.equal([1]);
        expect(await matching({ [key]: { words: { phrase: 'harbours running' } } }), key).to.deep.equal([]);
        expect(await matching({ [key]: { words: { any: 'the' } } }), key).to.deep.equal([]);
        expect(await matching({ $not: { [key]: { words: { any: 'run' } } } }), key).to.deep.equal([3, 4]);
      }
      const filter = { title: { words: { any: 'run' } } };
      const facets = { collection: 'c', key: 'title', metadata_filter: filter };
      expect(answered(await rw.post('/v1/facets', facets)).values).to.have.length(2);
      answered(
        await rw.post('/v1/records/metadata', { collection: 'c', metadata_filter: filter, merge: { seen: true } }),
      );
      expect(await matching({ seen: true })).to.deep.equal([1, 2]);
      const { deleted } = answered(await rw.post('/v1/records/delete', { collection: 'c', metadata_filter: filter }));
      expect(deleted).to.equal(2);
    });

    it('finds stems in past states', async () => {
      await fill(rw, 'c');
      answered(await rw.post('/v1/delete', { collection: 'c', id: 1 }));
      expect(await textIds('run')).to.deep.equal([2]);
      expect(await textIds('run', { as_of_log_index: 4 })).to.have.members([1, 2]);
      const metadata_filter = { $text: { words: { phrase: 'running to harbours' } } };
      expect(await textIds('run', { as_of_log_index: 4, metadata_filter })).to.deep.equal([1]);
      const long = { long: { words: { all: 'runner harbours' } } };
      expect(await textIds('run', { as_of_log_index: 4, metadata_filter: long })).to.deep.equal([1]);
    });

    it('finds the stems of a text of 64 KiB', async () => {
      await make(rw, 'c');
      const text = Array.from({ length: 7_000 }, (_, i) => `houses${i % 90}`)
        .join(' ')
        .slice(0, 65_520);
      answered(
        await rw.post('/v1/records', { collection: 'c', values: [1], text: `${text} runners`, metadata: { text } }),
      );
      expect(await textIds('runner')).to.deep.equal([1]);
      expect(await matching({ $text: { words: { phrase: 'runners' } } })).to.deep.equal([1]);
      expect(await matching({ text: { words: { any: 'runner houses5' } } })).to.deep.equal([1]);
      answered(await rw.post('/v1/delete', { collection: 'c', id: 1 }));
      expect(await textIds('runner')).to.deep.equal([]);
    });

    it('is listed with it, found by an identical creation, and 409 for another language or none', async () => {
      const { id } = await make(rw, 'c');
      expect(await make(rw, 'c')).to.deep.equal({ name: 'c', id, created: false });
      await make(rw, 'plain', { text: null });
      expect(await make(rw, 'plain', {})).to.include({ created: false });
      const { collections } = answered(await rw.get('/v1/namespaces'));
      expect(collections[0]).to.deep.include({ name: 'c', ...ENGLISH });
      expect(collections[1]).to.not.have.property('text');
      const create = (name: string, more: object): Promise<Answer> =>
        rw.raw('POST', '/v1/namespaces', JSON.stringify({ name, dimension: 1, metric: 'squared_l2', ...more }));
      for (const [name, more, has] of [
        ['c', {}, 'text language english'],
        ['c', { text: { language: 'german' } }, 'text language english'],
        ['plain', ENGLISH, 'no text language'],
      ] as const) {
        const { status, body } = await create(name, more);
        const error = `collection "${name}" exists with ${has}, which cannot change`;
        expect([status, body.code, body.error]).to.deep.equal([409, 'conflict', error]);
      }
      for (const [text, error] of [
        [{ language: 'klingon' }, '$.text.language: expected'],
        [{}, '$.text.language'],
        ['english', '$.text: expected'],
        [{ language: 'english', stemming: false }, '$.text.stemming is unknown here'],
      ] as const) {
        const { status, body } = await create('new', { text });
        expect([status, body.code]).to.deep.equal([400, 'validation_error']);
        expect(body.error).to.include(error);
      }
      for (const language of LANGUAGES) await make(rw, language, { text: { language } });
    });

    it('has it after an export and an import, which must say so', async () => {
      await fill(rw, 'c');
      const taken = await exported(rw, 'c');
      expect(taken.facts.text).to.deep.equal({ language: 'english', version: 1 });
      const { rw: target } = await service.newProject();
      await imported(target, taken, 'again');
      expect(await textIds('run', { collection: 'again' }, target)).to.have.members([1, 2]);
      const { text: _, ...without } = announcement(taken, 'other');
      answered(await target.post('/v1/import', without));
      expect((await target.post('/v1/import', announcement(taken, 'other'))).body.code).to.equal('conflict');
      const sent = await send(target, 'other', taken.frames);
      expect([sent.status, sent.body.code]).to.deep.equal([400, 'validation_error']);
    });

    it(atLength('has it after a restart'), async () => {
      const own = await restartable();
      const { rw: client } = await own.newProject();
      await fill(client, 'c');
      for (const name of own.processNames) await own.kill(name);
      await Promise.all(own.processNames.map((name) => own.run(name)));
      await own.until(async () => (await client.get('/v1/records/count?collection=c')).status === 200);
      expect(await textIds('run', {}, client)).to.have.members([1, 2]);
    });
  },
);
