/** Every option of a search with every other, over every index, with results worked out by hand. */
import { expect } from 'chai';
import { KINDS } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';
import { type Hit, SearchedByHttp, seen } from '../support/launch/searchClient.js';

/**
 * Six records at distances of 4, 9, 16, 25, 36 and 49. The first three are at least four half-lives older than the
 * others. So decay raises their distances to at least 64, 144 and 256, and keeps the others at 25, 36 and 49.
 */
const OLD = { batch: [[2], [3], [4]], keep: [true, false, true], texts: ['plain', 'needle', 'plain'] };
const YOUNG = { batch: [[5], [6], [7]], keep: [true, true, false], texts: ['needle', 'plain', 'plain'] };
/** Edges between nodes of these records; the third and the sixth have no nodes. */
const EDGES = [
  [1, 2],
  [4, 5],
  [5, 1],
] as const;
const AGE_SECS = 4;

const FILTER = { metadata_filter: { keep: true } };
const DECAY = { decay_half_life_secs: 1 };
const TEXT = { query_text: 'needle' };
const graph = (options: object = {}) => ({ graph_rerank: { weight: 1, ...options } });

/** `wanted`: per hit its id, or `id:hops`. */
type Case = readonly [title: string, options: object, wanted: string];

const CASES: readonly Case[] = [
  ['nothing', {}, '1 2 3 4 5 6'],
  ['a filter', FILTER, '1 3 4 5'],
  ['decay', DECAY, '4 5 6 1 2 3'],
  // 0.5, 0.944, 0.367, 0.767, 0.144, 0
  ['text', TEXT, '2 4 1 3 5 6'],
  // 4, 18, 16, 25, 36, 49
  ['the graph', graph(), '1:0 3:null 2:1 4:null 5:null 6:null'],
  ['a filter and decay', { ...FILTER, ...DECAY }, '4 5 1 3'],
  // Only matches of the filter get text scores: 0.5, 0.313, 0.672, 0
  ['a filter and text', { ...FILTER, ...TEXT }, '4 1 3 5'],
  // Hops pass through records that the filter removes: 4, 16, 75, 72
  ['a filter and the graph', { ...FILTER, ...graph({ direction: 'both' }) }, '1:0 3:null 5:1 4:2'],
  // Vector scores come from decayed distances: 1 for the fourth, at least 0.896 for the other young ones, 0 for the
  // third
  ['decay and text', { ...DECAY, ...TEXT }, '4 2 5 6 1 3'],
  // 25, 49, 72, and 144 or more, 192 or more, 256 or more
  ['decay and the graph', { ...DECAY, ...graph() }, '4:0 6:null 5:1 2:null 1:2 3:null'],
  // The text picks the best three and the seed; then 8, 9, 100
  ['text and the graph', { k: 3, ...TEXT, ...graph({ direction: 'incoming', max_depth: 3 }) }, '1:1 2:0 4:3'],
  ['a filter, decay and text', { ...FILTER, ...DECAY, ...TEXT }, '4 5 1 3'],
  ['a filter, text and the graph', { k: 2, ...FILTER, ...TEXT, ...graph() }, '1:2 4:0'],
  // The best three are the fourth, the second and the fifth: 25, 144 or more, 72
  ['decay, text and the graph', { k: 3, ...DECAY, ...TEXT, ...graph() }, '4:0 5:1 2:null'],
  ['a filter, decay and the graph', { ...FILTER, ...DECAY, ...graph() }, '4:0 5:1 1:2 3:null'],
  ['all of them', { ...FILTER, ...DECAY, ...TEXT, ...graph() }, '4:0 5:1 1:2 3:null'],
];

/** Sixty in a row; three contain the word, and none of them is among the twenty nearest. */
const NEEDLES: Readonly<Record<number, string>> = {
  40: 'needle needle',
  50: 'needle needle needle',
  60: 'a needle in a haystack of many words',
};
const HYBRID = { k: 1, hybrid: true, ...TEXT };
const HYBRID_CASES: Case[] = [
  ['no hybrid', { k: 1, ...TEXT }, '1'],
  ['hybrid', HYBRID, '40'],
  ['hybrid and a filter', { ...HYBRID, ...FILTER }, '50'],
  ['hybrid and decay', { ...HYBRID, ...DECAY }, '40'],
  ['hybrid and the graph', { ...HYBRID, ...graph() }, '40:0'],
  ['hybrid and all', { ...HYBRID, ...FILTER, ...DECAY, ...graph() }, '50:null'],
];

inBothModes('combinations', (service) => {
  const kinds = ['brute', ...KINDS] as const;
  const collections = new Map<string, SearchedByHttp>();

  before(async () => {
    const { rw } = await service.newProject();
    await Promise.all(
      kinds.map(async (kind) => {
        const [six, sixty] = [
          await SearchedByHttp.create(rw, kind, 1, kind),
          await SearchedByHttp.create(rw, `hybrid-${kind}`, 1, kind),
        ];
        await fill(six, OLD);
        await service.until(async () => (await six.search({ k: 1, ...DECAY }))[0]!.age_secs! >= AGE_SECS);
        await fill(six, YOUNG);
        const nodes = new Map<number, number>();
        for (const id of [1, 2, 4, 5]) nodes.set(id, await six.addNode(id));
        for (const [from, to] of EDGES) await six.addEdge(nodes.get(from)!, nodes.get(to)!);
        const places = Array.from({ length: 60 }, (_, i) => i + 1);
        await fill(sixty, {
          batch: places.map((place) => [place]),
          keep: places.map((place) => place !== 40),
          texts: places.map((place) => NEEDLES[place] ?? 'filler'),
        });
        await sixty.addNode(40);
        collections.set(six.name, six).set(sixty.name, sixty);
      }),
    );
  });

  for (const kind of kinds) {
    for (const [title, options, wanted] of CASES)
      it(`give the expected hits: ${title}, over ${kind}`, async () => {
        expectHits(await collections.get(kind)!.search(options), options, wanted, (id) => (id + 1) ** 2);
      });
    for (const [title, options, wanted] of HYBRID_CASES)
      it(`give the expected hits: ${title}, over ${kind}`, async () => {
        expectHits(await collections.get(`hybrid-${kind}`)!.search(options), options, wanted, (id) => id ** 2);
      });
  }
});

const fill = (collection: SearchedByHttp, { batch, keep, texts }: typeof OLD): Promise<void> =>
  collection.fill({ batch, texts, metadata: keep.map((one) => ({ keep: one })) });

/** Expects order and hops, and true scores and decay factors, whatever determined the order. */
function expectHits(hits: readonly Hit[], options: object, wanted: string, scoreOf: (id: number) => number): void {
  expect(seen(hits)).to.equal(wanted);
  for (const { id, score, decay_factor, age_secs } of hits) {
    expect(score).to.equal(scoreOf(id));
    expect(decay_factor).to.equal('decay_half_life_secs' in options ? 2 ** -age_secs! : undefined);
  }
}
