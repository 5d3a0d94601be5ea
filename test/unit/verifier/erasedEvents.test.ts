// Covers: verifier/bytes.ts
import { expect } from 'chai';
import { fromHex } from '../../../verifier/bytes.js';
import { ErasedEvents } from '../../../verifier/erasedEvents.js';
import type { ErasedCollection, ErasedContent } from '../../../verifier/erasure.js';
import type { LogEvent } from '../../../verifier/events.js';

type Stated = Pick<ErasedCollection, 'shred' | 'contents'>;

const KEY = 'ab'.repeat(16);
const OTHER = 'cd'.repeat(32);
const COMMITMENT = 'ef'.repeat(32);

const keyed = (sequence: bigint, keyId = KEY): LogEvent => ({
  ...{ type: 'insert under key', sequence, timeMs: 1_000n + sequence, recordId: sequence, requestId: null },
  ...{ keyId: fromHex(keyId), commitment: fromHex(COMMITMENT), expiresAtMs: null },
  ...{ nonce: new Uint8Array(12), ciphertext: new Uint8Array(16) },
});
const contentOf = (sequence: bigint): ErasedContent => ({
  ...{ sequence, recordId: sequence, timeMs: 1_000n + sequence, type: 'insert_under_key', commitment: COMMITMENT },
  isInState: true,
});
const shred = (sequence: bigint): LogEvent => ({
  ...{ type: 'shred key', sequence, timeMs: 1_000n + sequence, keyId: fromHex(KEY) },
});
const erasureOf = (contents: readonly ErasedContent[], sequence = 4n): Stated => ({
  shred: { sequence, timeMs: 1_000n + sequence, actor: null },
  contents,
});
const EVENTS = [keyed(1n), keyed(2n, '00'.repeat(16)), keyed(3n), shred(4n)];

function problemsOf(stated: Stated): string[] {
  const events = new ErasedEvents({ keyId: KEY });
  for (const event of EVENTS) events.take(event);
  return events.problems(stated);
}

describe('a certificate of erasure beside the log', () => {
  it('holds if it names just the events under the key', () => {
    expect(problemsOf(erasureOf([contentOf(1n), contentOf(3n)]))).to.deep.equal([]);
  });

  it('does not hold without one of these events', () => {
    expect(problemsOf(erasureOf([contentOf(1n)]))).to.deep.equal(['it does not name event 3, which is under the key']);
  });

  it('does not hold with an event of another key, record, time or commitment', () => {
    const all = [contentOf(1n), contentOf(2n), contentOf(3n)];
    expect(problemsOf(erasureOf(all))).to.deep.equal(['event 2 of the log is another one']);
    for (const change of [
      { recordId: 9n },
      { timeMs: 9n },
      { type: 'replace_under_key' },
      { commitment: OTHER },
    ] as const)
      expect(problemsOf(erasureOf([{ ...contentOf(1n), ...change }, contentOf(3n)]))).to.deep.equal([
        'event 1 of the log is another one',
      ]);
  });

  it('does not hold for another event of the shred', () => {
    expect(problemsOf(erasureOf([contentOf(1n), contentOf(3n)], 5n))).to.deep.equal([
      'event 5 of the log does not shred the key',
    ]);
  });
});
