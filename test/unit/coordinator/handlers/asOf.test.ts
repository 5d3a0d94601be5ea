// Covers: coordinator/body/instant.ts, coordinator/body/search.ts, coordinator/handlers/search.ts
import { expect } from 'chai';
import type { AsOf, SearchCall, SearchResult } from '../../../../shared/protocol/calls.js';
import type { Client } from '../../../support/launch/client.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const NOTHING: SearchResult = { ids: new Uint8Array(0), scores: new Uint8Array(0) };
const HASH = 'ab'.repeat(32);

describe('a past state in a search request', () => {
  let edge: TestEdge;
  let rw: Client;
  let answer: SearchResult;
  before(async () => {
    edge = await TestEdge.start();
    rw = await edge.client();
    await edge.backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
    edge.backend.answer = () => answer;
  });
  beforeEach(() => {
    answer = NOTHING;
    edge.backend.calls.length = 0;
  });
  after(() => edge.stop());

  const search = (options: object) => rw.post('/v1/search', { collection: 'c', query: [1], k: 3, ...options });

  /** The state that the shard was asked for. */
  async function asked(options: object): Promise<AsOf | undefined> {
    const { status, text } = await search(options);
    expect(status, text).to.equal(200);
    return (edge.backend.calls.at(-1) as SearchCall).asOf;
  }

  async function refused(options: object, path: string): Promise<void> {
    const { status, body } = await search(options);
    expect([status, body.code], JSON.stringify(options)).to.deep.equal([400, 'validation_error']);
    expect(body.error).to.match(new RegExp(`^\\$\\.${path}: `));
    expect(edge.backend.calls).to.deep.equal([]);
  }

  const instants: readonly (readonly [string, number])[] = [
    ['1970-01-01T00:00:00Z', 0],
    ['2026-01-01T00:00:00.5+02:00', 1_767_218_400_500],
    ['2026-11-22T14:00Z', 1_795_356_000_000],
    ['2026-11-22T14:00:00+0200', 1_795_348_800_000],
    ['2026-11-22T14:00:00+02', 1_795_348_800_000],
    ['2026-11-22T14:00-02', 1_795_363_200_000],
    ['2026-11-22t14:00+0530', 1_795_336_200_000],
    ['2026-11-22T14:00:00.25-0030', 1_795_357_800_250],
    ['2026-01-01t00:00:00.5-00:30', 1_767_227_400_500],
    ['2026-01-01T00:00:00z', 1_767_225_600_000],
    ['2026-01-01T00:00:00-00:00', 1_767_225_600_000],
    ['2026-01-01T00:00:00.1229Z', 1_767_225_600_122],
    ['2026-01-01T00:00:00.999999999+00:00', 1_767_225_600_999],
    ['2024-02-29T23:59:59.001+23:59', 1_709_164_859_001],
    ['1969-12-31T23:59:59.9995Z', -1],
    ['1900-01-01T00:00:00Z', -2_208_988_800_000],
    ['0099-12-31T00:00:00Z', -59_011_545_600_000],
    ['0000-02-29T00:00:00Z', -62_162_121_600_000],
    ['9999-12-31T23:59:59.999-23:59', 253_402_387_139_999],
  ];
  for (const [as_of, timeMs] of instants)
    it(`is read from ${as_of}, cut to the millisecond`, async () => {
      expect(await asked({ as_of })).to.deep.equal({ timeMs });
    });

  const noInstants = [
    '',
    'yesterday',
    '2026-01-01',
    '2026-01-01Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00.5',
    '2026-01-01 00:00Z',
    '2026-01-01T00:00',
    '2026-01-01T00Z',
    '2026-01-01T00:00.5Z',
    '2026-01-01T00:00:0Z',
    '2026-01-01T00:00:00+2',
    '2026-01-01T00:00:00+020',
    '2026-01-01T00:00:00+24',
    '2026-01-01T00:00:00+2400',
    '2026-01-01T00:00:00+0260',
    '2026-01-01T00:00:00+02:',
    '2026-01-01T00:00:00+02:00:00',
    '2026-01-01T00:00:00Z+02',
    '2026-W01-1T00:00:00Z',
    '2026-001T00:00:00Z',
    '20260101T000000Z',
    '2026-01-01T0000Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01\n00:00:00Z',
    '2026-01-01T00:00:00 Z',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00,5Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-06-30T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+02:60',
    '2026-01-01T00:00:00 CET',
    '2023-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '26-01-01T00:00:00Z',
    '+002026-01-01T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '٢٠٢٦-01-01T00:00:00Z',
    '1767225600',
    1_767_225_600,
    true,
    {},
    [],
  ];
  for (const as_of of noInstants)
    it(`is refused for ${JSON.stringify(as_of)} as an instant, with or without a log index`, async () => {
      await refused({ as_of }, 'as_of');
      await refused({ as_of, as_of_log_index: 1 }, 'as_of');
    });

  it('is a log index of 0 or more, which precedes an instant', async () => {
    const as_of = '2026-01-01T00:00:00Z';
    for (const logIndex of [0, 1, 2 ** 53 - 1]) {
      expect(await asked({ as_of_log_index: logIndex })).to.deep.equal({ logIndex });
      expect(await asked({ as_of_log_index: logIndex, as_of })).to.deep.equal({ logIndex });
    }
    expect(await asked({ as_of_log_index: null, as_of })).to.deep.equal({ timeMs: 1_767_225_600_000 });
    expect(await asked({ as_of_log_index: 1, as_of: null })).to.deep.equal({ logIndex: 1 });
    edge.backend.calls.length = 0;
    for (const as_of_log_index of [-1, 0.5, 2 ** 53, '1', true, [1], {}])
      await refused({ as_of_log_index, as_of }, 'as_of_log_index');
  });

  it('is reported beside the results, in whole seconds, and only if it was requested', async () => {
    const body = async (): Promise<object> => (await search({ as_of_log_index: 7 })).body;
    expect(await body()).to.deep.equal({ results: [] });
    answer = { ...NOTHING, asOf: { logIndex: 7, timeMs: 1_767_225_600_999, stateHash: HASH, erased: 2 } };
    const past = { as_of_log_index: 7, as_of_timestamp: 1_767_225_600, as_of_state_hash: HASH, erased: 2 };
    expect(await body()).to.deep.equal({ results: [], ...past });
    answer = { ...answer, ids: bytesOf(5), scores: bytesOf(0.25) };
    expect(await body()).to.deep.equal({ results: [{ id: 5, score: 0.25 }], ...past });
    answer = { ...NOTHING, asOf: { logIndex: 0, timeMs: null, stateHash: HASH, erased: 0 } };
    expect(await body()).to.deep.equal({
      results: [],
      as_of_log_index: 0,
      as_of_timestamp: null,
      as_of_state_hash: HASH,
      erased: 0,
    });
  });

  it('can be combined with every other option', async () => {
    const options = {
      as_of_log_index: 3,
      query_text: 'word',
      hybrid: true,
      decay_half_life_secs: 5,
      metadata_filter: { a: 1 },
      graph_rerank: {},
    };
    expect(await asked(options)).to.deep.equal({ logIndex: 3 });
    expect(edge.backend.calls.at(-1)).to.have.all.keys(
      ...['op', 'query', 'k', 'filter', 'decay', 'text', 'graph', 'asOf'],
    );
  });

  it('is refused in a multi search', async () => {
    for (const field of ['as_of', 'as_of_log_index']) {
      const { status, body } = await rw.post('/v1/search/multi', {
        collections: ['c'],
        query: [1],
        k: 1,
        [field]: null,
      });
      expect([status, body.code], field).to.deep.equal([400, 'validation_error']);
    }
  });
});

const bytesOf = (number: number): Uint8Array => new Uint8Array(Float64Array.of(number).buffer);
