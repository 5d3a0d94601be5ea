// Covers: shard/audit/insertedLeaves.ts, shard/audit/leaf.ts
import { expect } from 'chai';
import { InsertedLeaves } from '../../../../shard/audit/insertedLeaves.js';
import {
  type LeafRecord,
  leafHash,
  leafHashes,
  leafOfContent,
  leafUnderKey,
  RECORD_STATE,
} from '../../../../shard/audit/leaf.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Event, Insert, InsertUnderKey } from '../../../../shared/log/event.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const FRAMES = 200;
const EVENTS_MAX = 20;

describe('the leaves of the inserts of a frame', () => {
  const random = seededRandom(testSeed());
  const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.int(256));
  const field = (isMissing: boolean): Uint8Array | null => (isMissing ? null : bytes(random.int(3)));

  /** An insert. All plain ones of a dimension have one size. */
  function insert(recordId: number, dimension: number, isPlain: boolean): Insert {
    return {
      ...{ type: 'insert', sequence: recordId, timeMs: random.int(2 ** 40), actor: null, recordId, requestId: null },
      ...{ tag: random.int(2 ** 50), vector: bytes(4 * dimension) },
      ...{ metadata: field(isPlain), text: field(isPlain), externalId: field(isPlain) },
      ...(random.int(4) === 0 && !isPlain ? { expiresAtMs: 1 + random.int(2 ** 40) } : {}),
    };
  }

  /** An insert under a key. Those without an expiry have one size, whatever their contents. */
  function underKey(recordId: number): InsertUnderKey {
    return {
      ...{ type: 'insertUnderKey', sequence: recordId, timeMs: random.int(2 ** 40), actor: null, recordId },
      ...{ requestId: null, keyId: bytes(16), nonce: bytes(12), commitment: bytes(32), ciphertext: bytes(16) },
      ...{ content: null, ...(random.int(4) === 0 ? { expiresAtMs: 1 + random.int(2 ** 40) } : {}) },
    };
  }

  it('are those of each insert alone, whatever the sizes and the other events', () => {
    const together = { insert: 0, insertUnderKey: 0 };
    for (let frame = 0; frame < FRAMES; frame++) {
      const dimension = 1 + random.int(random.int(10) === 0 ? 4_096 : 300);
      const isPlain = random.int(2) === 0;
      const keyed = random.int(3);
      const events = Array.from({ length: 1 + random.int(EVENTS_MAX) }, (_, i): Event => {
        const other: Event = { type: 'delete', sequence: i + 1, timeMs: 0, actor: null, recordId: 1 };
        if (random.int(12) === 0) return other;
        return random.int(2) < keyed ? underKey(i + 1) : insert(i + 1, dimension, isPlain);
      });
      const leaves = new InsertedLeaves(events);
      for (let index = random.int(3); index < events.length; index += random.int(9) === 0 ? 2 : 1) {
        const leaf = leaves.at(index);
        if (leaf === undefined) continue;
        const event = events[index] as Insert | InsertUnderKey;
        together[event.type]++;
        const alone = event.type === 'insert' ? leafOfContent(event) : leafUnderKey(event);
        expect(toHex(leaf), `event ${index} of frame ${frame}`).to.equal(toHex(alone));
      }
    }
    expect(together.insert).to.be.above(FRAMES / 2);
    expect(together.insertUnderKey).to.be.above(FRAMES / 2);
  });
});

describe('the leaves of records', () => {
  it('are those of each record alone, in their order, whatever their sizes', () => {
    const random = seededRandom(testSeed());
    const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.int(256));
    for (const count of [0, 1, 3, 4, 5, 60]) {
      const records = Array.from({ length: count }, (_, i): LeafRecord => {
        const state = random.pick([RECORD_STATE.live, RECORD_STATE.tombstoned]);
        const vector = bytes(4 * random.pick([2, 3, 4_000]));
        const fields = {
          metadata: random.pick([null, bytes(2)]),
          text: null,
          externalId: random.pick([null, bytes(2)]),
        };
        return { state, id: i + 1, tag: random.int(2 ** 50), insertedMs: random.int(2 ** 40), vector, ...fields };
      });
      const leaves = records.map((record) => Buffer.from(leafHash(record)));
      expect(toHex(leafHashes(records))).to.equal(toHex(Buffer.concat(leaves)));
    }
  });
});
