// Covers: shared/errors/malformed.ts, shared/model/indexParameters.ts, shared/model/whole.ts, shared/protocol/wire.ts
/** The shapes of calls in messages to a shard, from any sender. */
import { inspect } from 'node:util';
import { expect } from 'chai';
import { Malformed } from '../../../../shared/errors/malformed.js';
import { OUTSIDE_NAMES } from '../../../../shared/model/indexParameters.js';
import {
  type AreCalls,
  areControls,
  areReads,
  areShardCalls,
  areWrites,
} from '../../../../shared/protocol/callShapes.js';
import type { Call, ReadCall } from '../../../../shared/protocol/calls.js';
import { pack, unpackCalls } from '../../../../shared/protocol/wire.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { rejection } from '../../../support/expectations.js';
import { insertOf } from '../../../support/rigs/engine.js';

const NO_COUNTS = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 31), '1'];

const isTaken = (are: AreCalls<Call>, call: object): boolean => are([['r', 1, call, null]]);
const search = (k: unknown): object => ({ op: 'search', query: new Uint8Array(8), k });

describe('calls in messages', () => {
  it('ask for 1 to 5,000 results of a search', () => {
    for (const k of [1, 5_000]) expect(isTaken(areReads as AreCalls<Call>, search(k)), `${k}`).to.equal(true);
    for (const k of [0, 5_001, 2 ** 32 + 1, ...NO_COUNTS])
      expect(isTaken(areReads as AreCalls<Call>, search(k)), `${k}`).to.equal(false);
  });

  it('have whole numbers as ids, tags and counts, and texts as external ids', () => {
    const reads: ReadCall['op'][] = ['get', 'vectorOf', 'getEncrypted'];
    const writes: WriteCall['op'][] = ['softDelete', 'delete', 'updateMetadata'];
    for (const id of NO_COUNTS) {
      const isExternal = typeof id === 'string';
      const call = { id, metadata: new Uint8Array(2) };
      for (const op of reads)
        expect(isTaken(areReads as AreCalls<Call>, { op, ...call }), `${op} ${id}`).to.equal(
          isExternal && op !== 'getEncrypted',
        );
      for (const op of writes)
        expect(isTaken(areWrites as AreCalls<Call>, { op, ...call }), `${op} ${id}`).to.equal(isExternal);
      const node = { op: 'addNode', kind: 1, recordId: id };
      expect(isTaken(areWrites as AreCalls<Call>, node), `node ${id}`).to.equal(isExternal);
      const insert = { ...insertOf(new Uint8Array(8)), tag: id };
      expect(isTaken(areWrites as AreCalls<Call>, insert), `tag ${id}`).to.equal(false);
    }
  });

  it('have valid times, weights and numbers of events, collections and epochs', () => {
    const full = { weight: 1, seedCount: 1, maxDepth: 2, direction: 'outgoing' };
    const searches = (value: unknown): object[] => [
      { ...search(1), asOf: { logIndex: value } },
      { ...search(1), graph: { ...full, weight: value } },
      { ...search(1), graph: { ...full, seedCount: value } },
      { ...search(1), graph: { ...full, maxDepth: value } },
    ];
    const shardCalls = (value: unknown): object[] => [
      { op: 'adopt', collectionIds: [1, value] },
      { op: 'silence', collectionId: value },
      { op: 'drop', collectionId: value },
      { op: 'stateHashAt', collectionId: 1, sequence: value },
      { op: 'handOver', collectionId: 1, epoch: value, to: 's', followers: [] },
    ];
    const areTaken = (are: unknown, calls: readonly object[]): boolean[] =>
      calls.map((call) => isTaken(are as AreCalls<Call>, call));
    expect(areTaken(areReads, searches(1))).to.deep.equal([true, true, true, true]);
    expect(areTaken(areShardCalls, shardCalls(1))).not.to.include(false);
    for (const value of NO_COUNTS) {
      const [, weight, ...others] = areTaken(areReads, searches(value));
      expect([weight, ...others], `${value}`).to.deep.equal([value === 0.5, false, false]);
      expect(areTaken(areShardCalls, shardCalls(value)), `${value}`).not.to.include(true);
      expect(isTaken(areControls as AreCalls<Call>, { op: 'hold', token: 't', holdMs: value })).to.equal(false);
    }
    for (const instant of [Number.NaN, Number.POSITIVE_INFINITY, '1']) {
      expect(isTaken(areReads as AreCalls<Call>, { ...search(1), asOf: { timeMs: instant } })).to.equal(false);
      const decay = { halfLifeSecs: 1, nowMs: instant };
      expect(isTaken(areReads as AreCalls<Call>, { ...search(1), decay })).to.equal(false);
    }
  });

  it('have the actor of a caller, or null', () => {
    const write = (actor: unknown): boolean => areWrites([['r', 1, { op: 'delete', id: 1 }, actor]]);
    const [keyId, person, request] = ['7f3a52c0d1e9b846', 'u-17', 'r-1'];
    for (const actor of [null, [keyId, null, null], [keyId, person, request]]) expect(write(actor)).to.equal(true);
    const refused = [
      undefined,
      {},
      [],
      [keyId],
      ['', null, null],
      [keyId, 'a b', null],
      [keyId, null, 'x'.repeat(129)],
    ];
    for (const actor of refused) expect(write(actor), `${actor}`).to.equal(false);
  });

  it('are refused without their content in the error if the message is malformed', async () => {
    const [word, call] = ['Ada, born 1815', { op: 'insertEncrypted', payload: 'Ada, born 1815' }];
    const bytes = Buffer.concat([pack([['r', 1, call, null]]), Buffer.of(1)]);
    const error = await rejection(Promise.resolve().then(() => unpackCalls(bytes, areWrites)));
    expect(error).to.be.instanceOf(Malformed);
    expect(inspect(error)).not.to.contain(word);
  });

  it('have index parameters that their kind can be built with', () => {
    const configure = (parameters: object): boolean =>
      isTaken(areControls as AreCalls<Call>, { op: 'configureIndex', spec: { kind: 'hnsw', parameters } });
    expect(configure({ m: 2, efConstruction: 4_096, nList: 65_536, later: 'x' })).to.equal(true);
    for (const name of Object.keys(OUTSIDE_NAMES))
      for (const value of [0, 65_537, ...NO_COUNTS])
        expect(configure({ [name]: value }), `${name} ${value}`).to.equal(false);
  });
});
