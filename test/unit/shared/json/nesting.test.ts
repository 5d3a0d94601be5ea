import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import { assertNesting, JsonBudget } from '../../../../shared/json/nesting.js';
import { JSON_KEY_MAX_BYTES, JSON_KEYS_MAX, JSON_MEMBERS_MAX, JSON_PIECES_MAX } from '../../../../shared/limits.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the check of nested JSON', () => {
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

  it('finds the depth from the bytes, with any strings, numbers and alignment', () => {
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

  it('leaves malformed text to the parser', () => {
    for (const text of ['', '"', '"\\', ']]]', '\\"', '["', '{"a":"\\"'])
      expect(passes(Buffer.from(text), 1)).to.equal(true);
  });

  it('refuses a key that is too long, and accepts a long string as a value', () => {
    const long = 'k'.repeat(JSON_KEY_MAX_BYTES);
    expect(passes(Buffer.from(`{"${long}" : 1}`), 1)).to.equal(true);
    expect(passes(Buffer.from(`{"${long}k" : 1}`), 1)).to.equal(false);
    expect(passes(Buffer.from(`["${long}k"]`), 1)).to.equal(true);
  });

  const refusal = (json: string, options?: Parameters<typeof assertNesting>[3]): string | undefined => {
    try {
      assertNesting(Buffer.from(json), 9, '$.a', options);
      return undefined;
    } catch (error) {
      return (error as VouchError).message;
    }
  };
  const list = (count: number, item: (place: number) => string): string =>
    `[${Array.from({ length: count }, (_, place) => item(place)).join()}]`;
  const object = (count: number, key: (place: number) => string): string =>
    `{${Array.from({ length: count }, (_, place) => `"${key(place)}":0`).join()}}`;

  it('names the beginning of a key that is too long, except in a secret body', () => {
    const json = `{"${'\\u0061'.repeat(200)}":1}`;
    expect(refusal(json)).to.equal(
      `$.a has a key of 1200 bytes, which begins with ${JSON.stringify('\\u0061'.repeat(6).slice(0, 32))}: at most 1024 are allowed`,
    );
    expect(refusal(json, { isSecret: true })).to.equal('$.a has a key of 1200 bytes: at most 1024 are allowed');
  });

  it('refuses more arrays, objects, strings and members than are parsed at once', () => {
    for (const piece of ['[]', '{}', '""']) {
      expect(refusal(list(JSON_PIECES_MAX - 1, () => piece))).to.equal(undefined);
      expect(refusal(list(JSON_PIECES_MAX, () => piece))).to.include('more than 1500000 arrays, objects and strings');
    }
    expect(refusal(object(JSON_MEMBERS_MAX, (place) => `k${place % 99}`))).to.equal(undefined);
    expect(refusal(object(JSON_MEMBERS_MAX + 1, () => 'k'))).to.include('more than 500000 members of objects');
  });

  it('refuses too many different keys, but accepts as many members with few keys', () => {
    const few = Math.floor(0.99 * JSON_KEYS_MAX);
    const more = Math.ceil(1.01 * JSON_KEYS_MAX);
    for (const key of [(place: number) => `k${place}`, String, (place: number) => `\\u0061${place}${'x'.repeat(99)}`]) {
      expect(refusal(object(3 * few, (place) => key(place % few)))).to.equal(undefined);
      expect(refusal(object(more, key))).to.include('more than 100000 different keys');
    }
    expect(refusal(list(more, (place) => `{"x":{"k${place}":"k${place}"}}`))).to.include('different keys');
  });

  it('counts the texts of one request together', () => {
    const budget = new JsonBudget();
    const keysOf = (text: number) => object(1_000, (place) => `k${text}_${place}`);
    const refused = Array.from({ length: 300 }, (_, text) => refusal(keysOf(text), { budget })).findIndex(Boolean);
    // The first 100,000 members are not examined.
    expect(refused).to.be.within(195, 205);
    expect(refusal(keysOf(0), { budget })).to.include('different keys');
  });
});
