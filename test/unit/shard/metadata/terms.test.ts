import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { kindOf, ValueTerms } from '../../../../shard/metadata/terms.js';
import type { Json } from '../../../../shared/model/filter.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';

type Term = Exclude<Json, number>;

function drawn(random: SeededRandom, depth: number): Json {
  const long = 'x'.repeat(random.pick([127, 128, 129, 300]));
  const scalars: Json[] = [0, 1, -1.5, 1e300, '', '0', 'true', '[0]', '#', long, `${long}y`, true, false, null];
  const kind = random.int(depth === 0 ? 2 : 5);
  if (kind < 2) return random.pick(scalars);
  if (kind < 4) return Array.from({ length: random.int(4) }, () => drawn(random, depth - 1));
  const keys = ['a', 'b', 'c', ',', 'k'.repeat(200)].filter(() => random.int(2) === 0);
  return Object.fromEntries(keys.map((key) => [key, drawn(random, depth - 1)]));
}

describe('the term of a value', () => {
  const random = seededRandom(testSeed());

  it('is equal for deeply equal values, and only for them', () => {
    const values = Array.from({ length: 1_500 }, () => drawn(random, 3)).filter(
      (value): value is Term => typeof value !== 'number',
    );
    const ofTerms = new Map<string, Term>();
    for (const value of values) {
      const term = `${kindOf(value)} ${new ValueTerms().of(value)}`;
      const other = ofTerms.get(term);
      if (other !== undefined) expect(isDeepStrictEqual(value, other), term).to.equal(true);
      ofTerms.set(term, value);
      const reversed = JSON.parse(JSON.stringify(value), (_, inner: Json) =>
        typeof inner === 'object' && inner !== null && !Array.isArray(inner)
          ? Object.fromEntries(Object.entries(inner).reverse())
          : inner,
      ) as Term;
      expect(`${kindOf(value)} ${new ValueTerms().of(reversed)}`).to.equal(term);
    }
    expect(ofTerms.size).to.be.above(100);
  });

  it('reads each member of nested values once, however many values are requested', () => {
    let reads = 0;
    const containers: Term[] = [];
    let inner: Json = Array.from({ length: 5_000 }, (_, i) => i);
    for (let level = 0; level < 63; level++) {
      const value: Json = inner;
      const counted = {
        get a(): Json {
          reads += 1;
          return value;
        },
      };
      inner = counted;
      containers.unshift(counted);
    }
    const terms = new ValueTerms();
    for (const container of containers) terms.of(container);
    expect(reads).to.equal(63);
  });
});
