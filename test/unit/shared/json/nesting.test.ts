import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import { assertNesting } from '../../../../shared/json/nesting.js';
import { JSON_KEY_MAX_BYTES } from '../../../../shared/limits.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the nesting of JSON', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  const passes = (json: Buffer, depthMax: number): boolean => {
    try {
      assertNesting(json, depthMax);
      return true;
    } catch (error) {
      expect(error).to.be.instanceOf(VouchError);
      return false;
    }
  };

  it('is found from the bytes, whatever strings, numbers and alignment there are', () => {
    const random = seededRandom(testSeed());
    const letters = [...'ab"\\[]{}\n é1'];
    const text = (): string => Array.from({ length: random.int(60) }, () => random.pick(letters)).join('');
    const some = (depth: number): unknown => {
      const kind = random.int(10);
      if (depth <= 0 || kind < 3) return random.pick([text(), null, true, random.next() * 1e6, random.int(9)]);
      if (kind < 6) return Array.from({ length: random.int(6) }, () => some(depth - 1));
      if (kind < 8) return Array.from({ length: random.int(100) }, () => random.next());
      return Object.fromEntries(Array.from({ length: random.int(5) }, () => [text(), some(depth - 1)]));
    };
    for (let round = 0; round < 3_000; round++) {
      const value = some(random.int(8));
      const padding = random.int(5);
      const whole = Buffer.from(' '.repeat(padding) + JSON.stringify(value, null, random.int(3)));
      const json = whole.subarray(padding);
      const depth = depthOf(value);
      expect(passes(json, depth)).to.equal(true);
      if (depth > 0) expect(passes(json, depth - 1)).to.equal(false);
    }
  });

  it('of ill-formed text is the parser’s affair', () => {
    for (const text of ['', '"', '"\\', ']]]', '\\"', '["', '{"a":"\\"'])
      expect(passes(Buffer.from(text), 1)).to.equal(true);
  });

  it('refuses a key that is too long, and no long string that is a value', () => {
    const long = 'k'.repeat(JSON_KEY_MAX_BYTES);
    expect(passes(Buffer.from(`{"${long}" : 1}`), 1)).to.equal(true);
    expect(passes(Buffer.from(`{"${long}k" : 1}`), 1)).to.equal(false);
    expect(passes(Buffer.from(`["${long}k"]`), 1)).to.equal(true);
  });
});
