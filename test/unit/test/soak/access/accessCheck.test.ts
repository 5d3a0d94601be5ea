/** The check of access logs on hand-made entries: right ones, and one with each error. */
import { expect } from 'chai';
import { AccessCheck } from '../../../../soak/access/accessCheck.js';
import type { AccessEntry } from '../../../../soak/access/accessEntries.js';
import { type AskedRead, AskedReads } from '../../../../soak/access/askedReads.js';

const STATES = ['none', 'first', 'second'];

const reads = new AskedReads(new Set(['a']));
const request = { method: 'GET', path: '/v1/records/1', query: 'collection=a', body: Buffer.alloc(0) };
reads.sent('1', request, 0)?.(200, Buffer.from('{}'));
const [READ] = reads.all as [AskedRead];
const ENTRY: AccessEntry = {
  ...{
    entry: 1,
    actor: { request_id: '1' },
    kind: 'GET /v1/records/{id}',
    status: 200,
    sequence: 2,
    state_hash: 'second',
  },
  ...{ request_hash: READ.requestHash, answer_hash: READ.answer!.hash },
};

const check = (entries: readonly AccessEntry[], read: AskedRead = READ): string[] => {
  const checked = new AccessCheck('a', entries, (sequence, stateHash) => STATES[sequence] === stateHash);
  return [...checked.wrongIn([read]), ...checked.unsent([read])];
};

describe('the check of access logs', () => {
  it('accepts one entry of an answered read, and none of a read without an answer', () => {
    expect(check([ENTRY])).to.deep.equal([]);
    expect(check([], { ...READ, answer: undefined })).to.deep.equal([]);
    expect(check([ENTRY], { ...READ, answer: undefined })).to.deep.equal([]);
  });

  it('ignores requests that read no collection with an access log', () => {
    expect(reads.sent('2', { ...request, query: 'collection=b' }, 0)).to.equal(undefined);
    expect(reads.sent('3', { ...request, method: 'POST', path: '/v1/records' }, 0)).to.equal(undefined);
  });

  for (const [what, entries] of Object.entries({
    'no entry': [],
    '2 entries': [ENTRY, ENTRY],
    'another request hash': [{ ...ENTRY, request_hash: '00' }],
    'the hash of another answer': [{ ...ENTRY, answer_hash: '00' }],
    'a state of event 1 that the collection did not have': [{ ...ENTRY, sequence: 1 }],
    'status 404, and was answered 200': [{ ...ENTRY, status: 404 }],
  }))
    it(`finds a read that has ${what}`, () => {
      expect(check(entries).join()).to.contain(`has ${what}`);
    });

  it('finds an entry of a read that was not sent', () => {
    expect(check([ENTRY, { ...ENTRY, actor: { request_id: '9' } }]).join()).to.contain('an entry of 9');
  });
});
