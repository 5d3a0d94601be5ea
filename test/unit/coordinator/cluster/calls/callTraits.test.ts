// Covers: shared/protocol/packedSize.ts
import { expect } from 'chai';
import { answerSizeOf, sizeOf } from '../../../../../coordinator/cluster/calls/callTraits.js';
import { filterOf } from '../../../../../coordinator/contract/filter.js';
import type { Filter } from '../../../../../shared/model/filter.js';
import type { SearchCall, SearchResult, TextQuery } from '../../../../../shared/protocol/calls.js';
import { pack } from '../../../../../shared/protocol/wire.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';

describe('the estimated size of a search in a message', () => {
  const random = seededRandom(testSeed());
  const word = (): string => random.pick(['a', '', 'ünï', '東京', '🙂', 'x'.repeat(300)]).repeat(random.int(4));
  const value = (depth = 3): unknown => {
    const scalar = random.pick([word, () => random.next() * 1e12, () => random.int(9), () => null, () => true]);
    if (depth === 0 || random.int(2) === 0) return scalar();
    const values = Array.from({ length: random.int(20) }, () => value(depth - 1));
    return random.int(2) === 0 ? values : { eq: Object.fromEntries(values.map((each, i) => [`${word()}${i}`, each])) };
  };
  const filter = (depth = 3): Record<string, unknown> => {
    if (depth === 0 || random.int(3) === 0)
      return { [`${word()}.${word()}b`]: { ne: value(), in: [value(), value()], exists: false, gte: word() } };
    const parts = Array.from({ length: 1 + random.int(4) }, () => filter(depth - 1));
    return random.pick([{ $and: parts }, { $or: parts }, { $not: parts[0]! }]);
  };
  /** A random filter may list more values than are allowed; draws until one is accepted. */
  const allowedFilter = (): Filter => {
    for (;;) {
      try {
        return filterOf(filter(), '$');
      } catch (error) {
        expect((error as Error).message).to.match(/lists at most|has at most/);
      }
    }
  };
  const plainText = (): TextQuery => ({ query: word(), hybrid: true });
  const weighted = (): TextQuery => ({ ...plainText(), fusion: { by: 'rrf', textWeight: random.next() } });
  const call = (): SearchCall => ({
    op: 'search',
    query: new Uint8Array(4 * random.int(100)),
    k: 1 + random.int(500),
    ...(random.int(3) > 0 ? { filter: allowedFilter() } : {}),
    ...(random.int(2) > 0 ? { text: random.pick([plainText, weighted])() } : {}),
    ...(random.int(2) > 0 ? { decay: { halfLifeSecs: 2 ** 53 - 1, nowMs: 1.8e12 } } : {}),
    ...(random.int(2) > 0
      ? { graph: { weight: random.next(), seedCount: 10, maxDepth: 4, direction: 'outgoing' as const } }
      : {}),
    ...(random.int(2) > 0 ? { asOf: random.pick([{ logIndex: 2 ** 53 - 1 }, { timeMs: -6e13 }]) } : {}),
  });
  /** The largest possible answer. */
  const answer = ({ k, decay, text, graph, asOf }: SearchCall): SearchResult => ({
    ids: new Uint8Array(8 * k),
    scores: new Uint8Array(8 * k),
    ...(decay === undefined ? {} : { factors: new Uint8Array(8 * k), agesSecs: new Uint8Array(8 * k) }),
    ...(text?.fusion === undefined ? {} : { textScores: new Uint8Array(8 * k) }),
    ...(graph === undefined ? {} : { hops: new Uint8Array(4 * k) }),
    fields: { externalIds: new Array<string>(k).fill('x'.repeat(256)) },
    ...(asOf === undefined
      ? {}
      : { asOf: { logIndex: 2 ** 53 - 1, timeMs: 1.8e12, stateHash: 'f'.repeat(64), erased: 2 ** 53 - 1 } }),
  });

  it('is never below the actual size, with any options, and not far above it', () => {
    for (let round = 0; round < 100; round++) {
      const asked = call();
      const sizeBytes = pack([['x'.repeat(128), 1.8e12, asked]]).length;
      expect(sizeOf(asked)).to.be.at.least(sizeBytes);
      expect(sizeOf(asked)).to.be.at.most(1_000 + 5 * sizeBytes);
      expect(answerSizeOf(asked)).to.be.within(pack([{ ok: answer(asked) }]).length, 600 + (44 + 261) * asked.k);
    }
  });
});
