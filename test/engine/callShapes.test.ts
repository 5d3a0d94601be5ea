/** What a message to a shard may ask, whoever sends it. */
import { inspect } from 'node:util';
import { expect } from 'chai';
import { type AreCalls, areControls, areReads, areWrites } from '../../shared/callShapes.js';
import type { Call, ReadCall, WriteCall } from '../../shared/calls.js';
import type { IndexParameters } from '../../shared/indexSpec.js';
import { Malformed } from '../../shared/malformed.js';
import { pack, unpackCalls } from '../../shared/wire.js';
import { insertOf } from '../support/engine.js';
import { rejection } from '../support/suites/expectations.js';

const NO_COUNTS = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 31), '1'];

const isTaken = (are: AreCalls<Call>, call: object): boolean => are([['r', 1, call]]);
const search = (k: unknown): object => ({ op: 'search', query: new Uint8Array(8), k });

describe('calls in messages', () => {
  it('a search may ask for 1 to 5,000 results', () => {
    for (const k of [1, 5_000]) expect(isTaken(areReads as AreCalls<Call>, search(k)), `${k}`).to.equal(true);
    for (const k of [0, 5_001, 2 ** 32 + 1, ...NO_COUNTS])
      expect(isTaken(areReads as AreCalls<Call>, search(k)), `${k}`).to.equal(false);
  });

  it('ids, tags and counts are whole numbers', () => {
    const reads: ReadCall['op'][] = ['get', 'getEncrypted'];
    const writes: WriteCall['op'][] = ['softDelete', 'delete'];
    for (const id of NO_COUNTS) {
      for (const op of reads) expect(isTaken(areReads as AreCalls<Call>, { op, id }), `${op} ${id}`).to.equal(false);
      for (const op of writes) expect(isTaken(areWrites as AreCalls<Call>, { op, id }), `${op} ${id}`).to.equal(false);
      const insert = { ...insertOf(new Uint8Array(8)), tag: id };
      expect(isTaken(areWrites as AreCalls<Call>, insert), `tag ${id}`).to.equal(false);
    }
  });

  it('a message that cannot be read is refused without a word of what it holds', async () => {
    const [word, call] = ['Ada, born 1815', { op: 'insertEncrypted', payload: 'Ada, born 1815' }];
    const bytes = Buffer.concat([pack([['r', 1, call]]), Buffer.of(1)]);
    const error = await rejection(Promise.resolve().then(() => unpackCalls(bytes, areWrites)));
    expect(error).to.be.instanceOf(Malformed);
    expect(inspect(error)).not.to.contain(word);
  });

  it('an index has parameters that its kind can be built with', () => {
    const configure = (parameters: object): boolean =>
      isTaken(areControls as AreCalls<Call>, { op: 'configureIndex', spec: { kind: 'hnsw', parameters } });
    expect(configure({ m: 2, efConstruction: 4_096, nList: 65_536, later: 'x' })).to.equal(true);
    const names: (keyof IndexParameters)[] = ['m', 'efConstruction', 'efSearch', 'nList', 'nProbe', 'candidates'];
    for (const name of names)
      for (const value of [0, 65_537, ...NO_COUNTS])
        expect(configure({ [name]: value }), `${name} ${value}`).to.equal(false);
  });
});
