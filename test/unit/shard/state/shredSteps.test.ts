// Covers: shard/state/recordsUnderKeys.ts, shard/state/encryptedRecords.ts, shard/state/erasureHistory.ts
/** The shred of a key with many records, applied in steps, compared with a state to which it is applied at once. */
import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { CollectionState } from '../../../../shard/state/collectionState.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Event } from '../../../../shared/log/event.js';
import { configOf } from '../../../support/rigs/engine.js';

const CONFIG = configOf(1);
const RECORDS = 500;
const [KEY, OTHER] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
const VECTOR = new Uint8Array(4 * CONFIG.dimension);

const newState = (): CollectionState =>
  new CollectionState(CONFIG, new VectorBlocks(new VectorMemory(), CONFIG.dimension), 10);

/** Contents and payloads under both keys. Some contents were never opened, and some records are deleted. */
function eventsOf(): Event[] {
  const content = { tag: 0, vector: VECTOR, metadata: null, text: null, externalId: null };
  const encrypted = { requestId: null, nonce: new Uint8Array(12), ciphertext: new Uint8Array(17) };
  const inserts = Array.from({ length: RECORDS }, (_, i) => {
    const common = { recordId: i + 1, keyId: i % 4 === 3 ? OTHER : KEY, ...encrypted };
    if (i % 5 === 0) return { type: 'insertEncrypted', tag: 0, ...common };
    const opened = i % 7 === 0 ? null : content;
    return { type: 'insertUnderKey', ...common, commitment: new Uint8Array(32), content: opened };
  });
  const deletions = Array.from({ length: RECORDS / 10 }, (_, i) => {
    return { type: i % 2 === 0 ? 'softDelete' : 'delete', recordId: 10 * i + 2 + (i % 3) };
  });
  return [...inserts, ...deletions].map(
    (event, i) => ({ ...event, sequence: i + 1, timeMs: CONFIG.createdAtMs, actor: null }) as Event,
  );
}

const SHRED = { type: 'shredKey', sequence: 1_000, timeMs: CONFIG.createdAtMs, actor: null, keyId: KEY } as const;

const shown = (state: CollectionState): object => ({
  live: [state.liveRecords, state.encrypted.liveCount, state.encrypted.lostCount, state.encrypted.payloadBytes],
  counts: [KEY, OTHER].map((keyId) => state.encrypted.countUnder(toHex(keyId))),
  slots: state.vectors.liveCount,
  records: Array.from({ length: RECORDS }, (_, i) => [state.isLive(i + 1), state.isReadable(i + 1)]),
  past: [1, RECORDS, 999].map((sequence) =>
    state.versions.holds(sequence, { filter: false, text: false, graph: false }),
  ),
  root: toHex(state.tree.root()),
});

describe('the shred of a key with many records, applied in steps', () => {
  it('looks at few records in each step, and in the turn of the event', () => {
    const state = newState();
    for (const event of eventsOf()) state.apply(event);
    expect(state.isLarge(SHRED)).to.equal(true);
    let looks = 0;
    const { encrypted, versions } = state;
    const [get, lost] = [encrypted.get.bind(encrypted), versions.lost.bind(versions)];
    encrypted.get = (recordId) => {
      looks++;
      return get(recordId);
    };
    versions.lost = (...given) => {
      looks++;
      return lost(...given);
    };
    let most = 0;
    for (const _ of state.applyInSteps(SHRED, () => undefined)) {
      most = Math.max(most, looks);
      looks = 0;
    }
    expect(Math.max(most, looks)).to.be.at.most(4);
    expect(encrypted.isShredded(toHex(KEY))).to.equal(true);
  });

  it('ends in the state that it has when it is applied at once', () => {
    const [whole, stepped] = [newState(), newState()];
    for (const state of [whole, stepped]) for (const event of eventsOf()) state.apply(event);
    expect(shown(stepped)).to.deep.equal(shown(whole));
    whole.apply(SHRED);
    for (const _ of stepped.applyInSteps(SHRED, () => undefined));
    expect(shown(stepped)).to.deep.equal(shown(whole));
    const live = Array.from({ length: RECORDS }, (_, i) => i + 1).filter((id) => whole.isLive(id));
    expect(whole.liveRecords).to.equal(live.length).and.be.above(0);
    expect(live.map((id) => whole.encrypted.get(id)!.keyId)).to.deep.equal(live.map(() => toHex(OTHER)));
    expect(() => whole.apply({ ...SHRED, sequence: 1_001 })).to.throw('once more');
  });
});
