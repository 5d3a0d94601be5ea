import { expect } from 'chai';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import { BodyPool, type FindScale } from '../../../../coordinator/body/bodyPool.js';
import type { BodyBounds } from '../../../../coordinator/body/bounds.js';
import { type BodyForm, type BodyKind, prepareBody } from '../../../../coordinator/body/kinds.js';
import { readVector, readVectors } from '../../../../coordinator/body/vectorText.js';
import { systemClock } from '../../../../shared/clock.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import { normaliseInto, type Scale } from '../../../../shared/fixedPoint.js';
import { silentLogger } from '../../../../shared/logger.js';
import { testSeed } from '../../../support/model/random.js';
import { componentsOf } from '../../../support/rigs/fakeBackend.js';

const BOUNDS: BodyBounds = {
  metadataBytes: 65_536,
  textBytes: 65_536,
  payloadBytes: 65_536,
  batchVectors: 16_384,
  commitBytes: 2 ** 24,
};

const divided = (values: readonly number[]): number[] => {
  const target = new Int32Array(values.length);
  expect(normaliseInto(values, target, 0)).to.equal(true);
  return [...target];
};

const component = fc.oneof(
  fc.double({ min: -32_768, max: 32_767, noNaN: true }),
  fc.integer({ min: -9, max: 9 }),
  fc.double({ min: -1e-300, max: 1e-300, noNaN: true }),
);
const vector = fc
  .array(component, { minLength: 1, maxLength: 6 })
  .filter((values) => values.some((value) => value !== 0));

describe('vectors of a body that are divided by their length', () => {
  const seed = testSeed();

  it('are read from the text to the bit that JSON.parse and the division give', () => {
    fc.assert(
      fc.property(vector, fc.constantFrom('', ' ', '\n\t'), (values, blank) => {
        const text = `[${values.map((value) => `${blank}${value}${blank}`).join()}]`;
        const read = readVector(Buffer.from(`${text},1]}`), 0, 'unit');
        // A 0 may be written with digits that a double does not hold: the whole body is looked at.
        if (values.some((value) => value === 0) && /e-\d{3}/.test(text)) {
          expect(read).to.equal(undefined);
          return;
        }
        expect(read!.end).to.equal(text.length);
        expect(componentsOf(read!.rows.bytes)).to.deep.equal(divided(JSON.parse(text)));
      }),
      { seed, numRuns: 2_000 },
    );
    const batch = [
      [3, 4],
      [-5, 12],
    ];
    const { rows } = readVectors(Buffer.from(` ${JSON.stringify(batch)}}`), 1, 'unit')!;
    expect(rows).to.include({ count: 2, dimension: 2, unevenAt: -1 });
    expect(componentsOf(rows.bytes)).to.deep.equal(batch.flatMap(divided));
  });

  it('are left to the whole body where they are not plain', () => {
    const unread = [
      '[]',
      '[0,-0]',
      '[1,"]"]',
      '[1,[2]]',
      '[1,null]',
      '[1,40000]',
      '[1,1e999]',
      '[1,1e-400]',
      '[01]',
      '[1',
      '1',
    ];
    for (const text of unread) expect(readVector(Buffer.from(`${text}}`), 0, 'unit'), text).to.equal(undefined);
    for (const text of ['[[1],[1,2]]', '[[1],[0]]', '[[1] [2]]', '[]'])
      expect(readVectors(Buffer.from(`${text}}`), 0, 'unit'), text).to.equal(undefined);
  });

  const prepared = (kind: BodyKind, form: BodyForm, value: object): unknown => {
    const bytes = form === 'json' ? Buffer.from(JSON.stringify(value)) : pack(value);
    try {
      return prepareBody(kind, { form, bytes }, BOUNDS, 'unit');
    } catch (error) {
      return (error as VouchError).message;
    }
  };

  it('are the same in JSON and in msgpack', () => {
    fc.assert(
      fc.property(fc.array(vector, { minLength: 1, maxLength: 3 }), (batch) => {
        const [first] = batch;
        const searches = batch.map((query) => ({ query, k: 1, score_threshold: 2 }));
        const bodies: [BodyKind, object][] = [
          ['insert', { values: first }],
          ['batch', { batch }],
          ['upsert', { batch, external_ids: batch.map((_, i) => `${i}`) }],
          ['search', { query: first, k: 2 }],
          ['searchBatch', { searches }],
        ];
        for (const [kind, body] of bodies)
          expect(prepared(kind, 'msgpack', body), kind).to.deep.equal(prepared(kind, 'json', body));
      }),
      { seed, numRuns: 300 },
    );
  });

  it('are refused by their path if they are zeros', () => {
    const zeros = [0, 0];
    for (const form of ['json', 'msgpack'] as const)
      for (const [kind, body, path] of [
        ['insert', { values: zeros }, '$.values'],
        ['batch', { batch: [[1, 2], zeros] }, '$.batch[1]'],
        ['search', { query: zeros, k: 1 }, '$.query'],
        [
          'searchBatch',
          {
            searches: [
              { query: [1], k: 1 },
              { query: zeros, k: 1 },
            ],
          },
          '$.searches[1].query',
        ],
      ] as const)
        expect(prepared(kind, form, body))
          .to.match(/^(\S+) holds only zeros/)
          .and.include(path);
    expect(prepared('batch', 'json', { batch: [[1, 2], [0]] })).to.include({ unevenAt: 1 });
  });
});

describe('bodies whose collections normalise', () => {
  const asked: [string, readonly (string | null)[]][] = [];
  const scales: Readonly<Record<string, Scale | Promise<Scale>>> = {
    unit: 'unit',
    newUnit: Promise.resolve('unit'),
    newPlain: Promise.resolve('plain'),
  };
  const findScale: FindScale = (project, names) => {
    asked.push([project, names]);
    return scales[names.find((name) => name !== 'plain') ?? 'plain'] ?? 'plain';
  };
  let pool: BodyPool;
  beforeEach(() => {
    asked.length = 0;
    pool = new BodyPool(BOUNDS, findScale, silentLogger, { maxQueueWaitMs: 60_000, clock: systemClock });
  });
  afterEach(() => pool.close());

  const SIZES = { small: 0, 'too large for the coordinator where it is divided': 100_000, large: 300_000 };
  for (const [size, spaces] of Object.entries(SIZES))
    it(`are prepared in the scale of the collection where they are ${size}`, async () => {
      for (const [collection, scale] of [
        ['plain', 'plain'],
        ['unit', 'unit'],
        ['newUnit', 'unit'],
        ['newPlain', 'plain'],
      ] as const) {
        const body = Buffer.from(`{"batch":[[3,4],[0,2]],"collection":"${collection}"${' '.repeat(spaces)}}`);
        const expected = prepareBody('batch', { form: 'json', bytes: body }, BOUNDS, scale);
        expect(await pool.prepare('batch', 'json', Buffer.from(body), 'p')).to.deep.equal(expected);
        expect(expected.scale).to.equal(scale);
        expect(asked.splice(0)).to.deep.equal([['p', [collection]]]);
      }
    });

  it('have both queries where several collections are searched', async () => {
    for (const spaces of Object.values(SIZES)) {
      const body = (names: string): Buffer =>
        Buffer.from(`{"collections":${names},"query":[3,4],"k":1,"score_threshold":2${' '.repeat(spaces)}}`);
      const { call, unit } = await pool.prepare('multiSearch', 'json', body('["plain","unit"]'), 'p');
      expect(componentsOf(call.query!)).to.deep.equal([196_608, 262_144]);
      expect(componentsOf(unit!.query!)).to.deep.equal([629_146, 838_861]);
      expect([call.scoreMost, unit!.scoreMost]).to.deep.equal([2, 512]);
      expect(await pool.prepare('multiSearch', 'json', body('["plain"]'), 'p')).to.not.have.property('unit');
    }
  });

  it('are refused in the scale of the collection', async () => {
    for (const spaces of Object.values(SIZES)) {
      const body = Buffer.from(`{"values":[0,0],"collection":"unit"${' '.repeat(spaces)}}`);
      const error = await pool.prepare('insert', 'json', body, 'p').catch((reason: VouchError) => reason);
      expect(error).to.include({ code: 'validation_error' });
      expect((error as VouchError).message).to.match(/^\$\.values holds only zeros/);
    }
  });

  it('without vectors ask for no scale', async () => {
    await pool.prepare('getRecords', 'json', Buffer.from('{"collection":"unit","ids":[1]}'), 'p');
    expect(asked).to.deep.equal([]);
    await pool.prepare('search', 'json', Buffer.from('{"query":[1],"k":1}'), 'p');
    expect(asked).to.deep.equal([['p', [null]]]);
  });
});
