import { expect } from 'chai';
import { fromWire, toWire } from '../../../client/spelling.js';

describe('the spelling of the client', () => {
  it('converts the names of fields, and no key of the caller', () => {
    const wire = {
      log_index: 1,
      hits: [{ external_id: 'a', metadata: { a_b: 1, aB: 2 } }],
      vector: [1, 2],
      none: null,
    };
    const own = { logIndex: 1, hits: [{ externalId: 'a', metadata: { a_b: 1, aB: 2 } }], vector: [1, 2], none: null };
    expect(fromWire(wire)).to.deep.equal(own);
    expect(toWire(own)).to.deep.equal(wire);
  });

  it('keeps a field named __proto__ as a field', () => {
    const wire = toWire(JSON.parse('{"__proto__":{"leafIndex":1}}')) as object;
    expect(Object.getPrototypeOf(wire)).to.equal(Object.prototype);
    expect(Object.entries(wire)).to.deep.equal([['__proto__', { leaf_index: 1 }]]);
  });
});
