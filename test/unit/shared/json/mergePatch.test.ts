// Covers: shared/json/mergePatch.ts
import { expect } from 'chai';
import { mergePatch } from '../../../../shared/json/mergePatch.js';

/** The examples of RFC 7396, appendix A: target, patch, result. */
const EXAMPLES: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

describe('a merge patch', () => {
  it('has the results of RFC 7396', () => {
    for (const [target, patch, result] of EXAMPLES)
      expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch))), `${target} ${patch}`).to.equal(result);
  });

  it('treats __proto__ and constructor as keys like any other', () => {
    const merged = mergePatch(JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"b":2},"constructor":3}'));
    expect(JSON.stringify(merged)).to.equal('{"__proto__":{"a":1,"b":2},"constructor":3}');
    expect(({} as { b?: number }).b).to.equal(undefined);
  });

  it('changes neither the target nor the patch', () => {
    const target = { a: { b: 1 } };
    const patch = { a: { c: [2] } };
    mergePatch(target, patch);
    expect([target, patch]).to.deep.equal([{ a: { b: 1 } }, { a: { c: [2] } }]);
  });
});
