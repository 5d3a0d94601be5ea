/** The vector stores of LangChain.js and LlamaIndex.TS, against a service. */
import { Document as LangDocument } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { BaseEmbedding } from '@llamaindex/core/embeddings';
import { Document as LlamaDocument, MetadataMode, TextNode } from '@llamaindex/core/schema';
import { FilterOperator, type MetadataFilters, VectorStoreQueryMode } from '@llamaindex/core/vector-store';
import { expect } from 'chai';
import { ValidationError, Vouch } from '../../client/index.js';
import { VouchVectorStore as LangStore } from '../../client/langchain.js';
import { VouchVectorStore as LlamaStore } from '../../client/llamaindex.js';
import { rejection } from '../support/expectations.js';
import { sharedService } from '../support/launch/modes.js';

/** Number of times that each word is in the text. */
const WORDS = ['cat', 'dog', 'boat', 'sea'];
const embedded = (text: string): number[] => WORDS.map((word) => text.split(word).length - 1);

class CountedWords extends Embeddings {
  constructor() {
    super({});
  }

  embedQuery(text: string): Promise<number[]> {
    return Promise.resolve(embedded(text));
  }

  embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.resolve(texts.map(embedded));
  }
}

class CountedByLlama extends BaseEmbedding {
  // biome-ignore lint/complexity/noUselessConstructor: that of the base is protected
  constructor() {
    super();
  }

  override getTextEmbedding = (text: string): Promise<number[]> => Promise.resolve(embedded(text));
}

describe('the stores of the frameworks', () => {
  const service = sharedService('standalone');
  let vouch: Vouch;
  before(async () => {
    const { rw } = await service.newProject();
    vouch = new Vouch({ url: rw.url, apiKey: rw.key });
  });

  describe('LangChain.js', () => {
    const embeddings = new CountedWords();
    const documents = [
      new LangDocument({ id: 'a', pageContent: 'cat cat', metadata: { kind: 'pet', legs: 4 } }),
      new LangDocument({ id: 'b', pageContent: 'cat dog', metadata: { kind: 'pet', legs: 8 } }),
      new LangDocument({ id: 'c', pageContent: 'boat sea', metadata: { kind: 'ship' } }),
    ];
    const storeOf = (collection: string): Promise<LangStore> =>
      LangStore.fromDocuments(documents, embeddings, { vouch, collection });

    it('finds documents with their contents, ids and similarities', async () => {
      const store = await storeOf('found');
      const found = await store.similaritySearchWithScore('cat cat', 2);
      expect(found.map(([{ id, pageContent, metadata }, score]) => [id, pageContent, metadata, score])).to.deep.equal([
        ['a', 'cat cat', { kind: 'pet', legs: 4 }, 1],
        ['b', 'cat dog', { kind: 'pet', legs: 8 }, 1 / 3],
      ]);
      expect(await store.similaritySearchWithRelevanceScores('cat cat', 2)).to.deep.equal(found);
      const cosines = await LangStore.fromDocuments(documents, embeddings, {
        vouch,
        collection: 'cos',
        normalise: true,
      });
      const scores = (await cosines.similaritySearchWithScore('cat cat', 3)).map(([, score]) => score);
      expect(scores[0]).to.equal(1);
      expect(scores[2]).to.be.closeTo(0, 1e-5);
      expect(scores[1]).to.be.closeTo(Math.SQRT1_2, 1e-5);
      const [ship] = await store.similaritySearch('cat', 1, { kind: 'ship' });
      expect(ship!.id).to.equal('c');
      expect(await store.asRetriever({ k: 1, filter: { legs: { gt: 4 } } }).invoke('cat')).to.have.length(1);
    });

    it('creates missing ids, replaces stored documents, and deletes by id and by filter', async () => {
      const store = await storeOf('written');
      const ids = await store.addDocuments([new LangDocument({ pageContent: 'sea sea' })]);
      expect(ids[0]).to.match(/^[0-9a-f-]{36}$/);
      expect(await store.addDocuments([documents[0]!, documents[0]!], { ids: ['c', 'c'] })).to.deep.equal(['c', 'c']);
      const count = (): Promise<number> => store.collection.count();
      expect(await count()).to.equal(4);
      expect((await store.similaritySearch('cat cat', 2)).map(({ id }) => id)).to.deep.equal(['a', 'c']);
      await store.delete({ ids: [ids[0]!, 'none'] });
      await store.delete({ filter: { legs: { gte: 8 } } });
      expect(await count()).to.equal(2);
      await store.delete({ ids: [] });
      await new LangStore(embeddings, { vouch, collection: 'nothing' }).delete({ ids: ['a'] });
      expect(await store.addDocuments([])).to.deep.equal([]);
    });

    it('finds nothing before the first document, and no search creates a collection', async () => {
      const store = new LangStore(embeddings, { vouch, collection: 'unborn' });
      expect(await store.similaritySearch('cat', 4)).to.deep.equal([]);
      expect(await store.maxMarginalRelevanceSearch('cat', { k: 4 })).to.deep.equal([]);
      expect((await vouch.collections()).map(({ name }) => name)).to.not.include('unborn');
    });

    it('deletes repeated ids, and more ids than one request deletes', async () => {
      const store = await storeOf('many');
      const texts = Array.from({ length: 16_400 }, (_, i) => new LangDocument({ id: `d${i}`, pageContent: 'cat' }));
      const ids = await store.addDocuments(texts);
      await store.delete({ ids: ['d1', 'd1'] });
      expect(await store.collection.count()).to.equal(16_402);
      await store.delete({ ids });
      expect(await store.collection.count()).to.equal(3);
    });

    it('adds documents whose vectors exceed one request', async () => {
      const store = new LangStore(embeddings, { vouch, collection: 'wide' });
      const vector = Array.from({ length: 4_096 }, (_, i) => (i + 0.123_456_789) / 5_000);
      const wide = Array.from({ length: 600 }, () => new LangDocument({ pageContent: '', metadata: {} }));
      await store.addVectors(Array(600).fill(vector), wide);
      expect(await store.collection.count()).to.equal(600);
    });

    it('creates no collection for vectors that are empty, of different lengths, or too many', async () => {
      const store = new LangStore(embeddings, { vouch, collection: 'odd' });
      const two = documents.slice(0, 2);
      for (const vectors of [[[], [1, 0]], [[1, 0], [1]], [[], []], [[1, 0]]])
        expect(await rejection(store.addVectors(vectors, two))).to.be.instanceOf(TypeError);
      expect((await vouch.collections()).map(({ name }) => name)).to.not.include('odd');
    });

    it('refuses ids that are fewer than the documents', async () => {
      const store = new LangStore(embeddings, { vouch, collection: 'fewIds' });
      expect(await rejection(store.addDocuments(documents.slice(0, 2), { ids: ['a'] }))).to.be.instanceOf(TypeError);
      expect((await vouch.collections()).map(({ name }) => name)).to.not.include('fewIds');
    });

    it('finds documents that differ from one another', async () => {
      const store = await LangStore.fromTexts(['cat', 'cat ', 'cat dog'], [{}, {}, {}], embeddings, {
        vouch,
        collection: 'mmr',
      });
      const found = await store.maxMarginalRelevanceSearch('cat', { k: 2, lambda: 0.3 });
      expect(found.map(({ pageContent }) => pageContent)).to.deep.equal(['cat', 'cat dog']);
      for (const more of [{ fetchK: 3 }, { lambda: 0.3 }]) {
        const again = await store.maxMarginalRelevanceSearch('cat', { k: 2, lambda: 0.3, ...more });
        expect(again.map(({ pageContent }) => pageContent)).to.deep.equal(['cat', 'cat dog']);
      }
      const near = await store.maxMarginalRelevanceSearch('cat', { k: 2, lambda: 1 });
      expect(near.map(({ pageContent }) => pageContent)).to.deep.equal(['cat', 'cat ']);
      expect(await store.maxMarginalRelevanceSearch('cat', { k: 101 })).to.have.length(3);
    });

    it('finds documents by words alone, by the stems of a language', async () => {
      const config = { vouch, collection: 'worded', text: { language: 'english' } } as const;
      const store = await LangStore.fromTexts(['two cats', 'a dog'], [{ n: 1 }, { n: 2 }], embeddings, config);
      const found = await store.textSearchWithScore('cat');
      expect(found.map(([{ pageContent, metadata }]) => [pageContent, metadata])).to.deep.equal([
        ['two cats', { n: 1 }],
      ]);
      expect(found[0]![1]).to.be.above(0.1);
      expect(await store.textSearchWithScore('cat', 1, { n: 2 })).to.deep.equal([]);
      expect(await new LangStore(embeddings, { vouch, collection: 'unborn' }).textSearchWithScore('cat')).to.deep.equal(
        [],
      );
    });

    it('ranks by words too with hybrid, also through a retriever', async () => {
      const texts = ['boat', 'cat boat T-17'];
      const plain = await LangStore.fromTexts(texts, [{}, {}], embeddings, { vouch, collection: 'hybrid' });
      const hybrid = new LangStore(embeddings, { vouch, collection: 'hybrid', hybrid: { textWeight: 1 } });
      const first = async (store: LangStore): Promise<string> =>
        (await store.asRetriever({ k: 1 }).invoke('boat T-17'))[0]!.pageContent;
      expect([await first(plain), await first(hybrid)]).to.deep.equal(['boat', 'cat boat T-17']);
    });
  });

  describe('LlamaIndex.TS', () => {
    const embedModel = new CountedByLlama();
    const nodeOf = (id_: string, text: string, metadata: Record<string, string | number | string[]>): TextNode =>
      new TextNode({ id_, text, metadata, embedding: embedded(text) });
    const query = (filters?: MetadataFilters) => ({
      ...{ queryEmbedding: embedded('cat cat'), similarityTopK: 3, mode: VectorStoreQueryMode.DEFAULT },
      ...(filters === undefined ? {} : { filters }),
    });
    async function filled(collection: string): Promise<LlamaStore> {
      const store = new LlamaStore({ vouch, collection, embedModel });
      const nodes = [
        nodeOf('a', 'cat cat', { kind: 'pet', legs: 4, tags: ['x', 'y'] }),
        nodeOf('b', 'cat dog', { kind: 'pet', legs: 8 }),
        nodeOf('c', 'boat sea', { kind: 'ship', legs: 0 }),
      ];
      const source = new LlamaDocument({ id_: 'book', text: '' }).asRelatedNodeInfo();
      for (const node of nodes.slice(0, 2)) node.relationships = { SOURCE: source };
      expect(await store.add(nodes)).to.deep.equal(['a', 'b', 'c']);
      return store;
    }

    it('finds nodes with their content, ids and similarities', async () => {
      const store = await filled('nodes');
      const { nodes, ids, similarities } = await store.query(query());
      expect(ids).to.deep.equal(['a', 'b', 'c']);
      expect(similarities).to.deep.equal([1, 1 / 3, 1 / 7]);
      const cosines = new LlamaStore({ vouch, collection: 'llama-cos', normalise: true, embedModel });
      const node = new TextNode({ text: 'dog', embedding: embedded('cat cat dog dog') });
      await cosines.add([node]);
      expect((await cosines.query(query())).similarities[0]).to.be.closeTo(Math.SQRT1_2, 1e-5);
      expect(nodes!.map((node) => [node.id_, node.getContent(MetadataMode.NONE)])).to.deep.equal([
        ['a', 'cat cat'],
        ['b', 'cat dog'],
        ['c', 'boat sea'],
      ]);
      expect(nodes![0]!.metadata).to.include({ kind: 'pet', legs: 4 });
    });

    it('finds nothing before the first node, and all nodes without conditions', async () => {
      const unborn = new LlamaStore({ vouch, collection: 'noNodes', embedModel });
      expect(await unborn.query(query())).to.deep.equal({ nodes: [], similarities: [], ids: [] });
      const store = await filled('unfiltered');
      expect((await store.query(query({ filters: [] }))).ids).to.deep.equal(['a', 'b', 'c']);
    });

    it('refuses a mode that the service does not have, and a hybrid query without a text', async () => {
      const store = await filled('modes');
      const served = [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR];
      for (const mode of Object.values(VectorStoreQueryMode).filter((one) => !served.includes(one)))
        expect(await rejection(store.query({ ...query(), mode })), mode).to.be.instanceOf(ValidationError);
    });

    it('ranks by words, by vectors, by both, and by how much nodes differ', async () => {
      const store = await filled('ranked');
      const ids = async (mode: keyof typeof VectorStoreQueryMode, more: object = {}): Promise<string[]> =>
        (await store.query({ ...query(), queryStr: 'boat', mode: VectorStoreQueryMode[mode], ...more })).ids;
      expect(await ids('HYBRID')).to.have.lengthOf(3);
      expect(await ids('HYBRID', { alpha: 1 })).to.deep.equal(['a', 'b', 'c']);
      expect((await ids('SEMANTIC_HYBRID', { alpha: 0 }))[0]).to.equal('c');
      expect(await ids('MMR', { mmrThreshold: 1 })).to.deep.equal(['a', 'b', 'c']);
      expect(await ids('MMR', { mmrThreshold: 0, similarityTopK: 2 })).to.deep.equal(['a', 'c']);
      expect(await ids('SPARSE')).to.deep.equal(['c']);
      const { queryEmbedding: _, ...textAlone } = query();
      const found = await store.query({ ...textAlone, mode: VectorStoreQueryMode.SPARSE, queryStr: 'dog' });
      expect(found.ids).to.deep.equal(['b']);
      expect(found.similarities[0]).to.be.above(0.1);
    });

    it('refuses a condition whose value is undefined', async () => {
      const store = await filled('conditions');
      const vanishing = { key: 'kind', operator: FilterOperator.EQ } as const;
      expect(await rejection(store.query(query({ filters: [vanishing] })))).to.be.instanceOf(TypeError);
    });

    it('filters by every operator that the service has', async () => {
      const store = await filled('filtered');
      const cases: [MetadataFilters['filters'][number], string[]][] = [
        [{ key: 'kind', value: 'ship', operator: FilterOperator.EQ }, ['c']],
        [{ key: 'kind', value: 'ship', operator: FilterOperator.NE }, ['a', 'b']],
        [{ key: 'legs', value: 4, operator: FilterOperator.GT }, ['b']],
        [{ key: 'legs', value: 4, operator: FilterOperator.GTE }, ['a', 'b']],
        [{ key: 'legs', value: 4, operator: FilterOperator.LT }, ['c']],
        [{ key: 'legs', value: 4, operator: FilterOperator.LTE }, ['a', 'c']],
        [{ key: 'legs', value: [0, 8], operator: FilterOperator.IN }, ['b', 'c']],
        [{ key: 'legs', value: [0, 8], operator: FilterOperator.NIN }, ['a']],
        [{ key: 'tags', value: ['y', 'z'], operator: FilterOperator.ANY }, ['a']],
        [{ key: 'tags', value: ['x', 'y'], operator: FilterOperator.ALL }, ['a']],
        [{ key: 'tags', value: ['x', 'z'], operator: FilterOperator.ALL }, []],
        [{ key: 'tags', value: 'x', operator: FilterOperator.CONTAINS }, ['a']],
        [{ key: 'kind', value: 'hi', operator: FilterOperator.TEXT_MATCH }, ['c']],
        [{ key: 'tags', operator: FilterOperator.IS_EMPTY }, ['b', 'c']],
      ];
      for (const [filter, ids] of cases)
        expect((await store.query(query({ filters: [filter] }))).ids, JSON.stringify(filter)).to.deep.equal(ids);
      const either: MetadataFilters = { filters: [cases[0]![0], cases[2]![0]], condition: 'or' };
      expect((await store.query(query(either))).ids).to.deep.equal(['b', 'c']);
      const unknown = query({ filters: [{ key: 'kind', value: 'sh', operator: 'regex' as FilterOperator }] });
      expect(await rejection(store.query(unknown))).to.be.instanceOf(ValidationError);
      expect(await rejection(store.query({ ...query(), queryEmbedding: [] }))).to.be.instanceOf(Error);
    });

    it('replaces an existing node, and deletes those of a document', async () => {
      const store = await filled('replaced');
      await store.add([nodeOf('c', 'cat cat', { kind: 'cat' })]);
      expect((await store.query(query())).ids).to.deep.equal(['a', 'c', 'b']);
      await store.delete('book');
      expect((await store.query(query())).ids).to.deep.equal(['c']);
      await new LlamaStore({ vouch, collection: 'nothing', embedModel }).delete('book');
      expect(await store.add([])).to.deep.equal([]);
      expect(store.client().name).to.equal('replaced');
    });
  });
});
