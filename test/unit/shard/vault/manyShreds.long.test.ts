// Covers: shard/state/recordsUnderKeys.ts, shard/vault/contentKeys.ts, verifier/recordTable.ts
/** A log with ten thousand shredded keys. */
import { expect } from 'chai';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { verifyFrames } from '../../../../verifier/log.js';
import { EncryptedRig, keyOf } from '../../../support/rigs/encryptedRig.js';
import { fixed } from '../../../support/rigs/engine.js';

const ID = 3;
const KEYS = 10_000;
const BATCH = 1_000;
/** Keys shredded at a time, as several clients would. */
const AT_ONCE = 32;

describe('a log with 10,000 shredded keys', () => {
  it('verifies, and a replay has the state hash from before, with the records under other keys', async function () {
    this.timeout(300_000);
    const rig = new EncryptedRig([ID]);
    const keyIds = Array.from({ length: KEYS + 1 }, (_, n) => keyOf(n + 1));
    for (let from = 0; from <= KEYS; from += BATCH) {
      const some = keyIds.slice(from, from + BATCH);
      const vectors = Buffer.concat(some.map((_, i) => fixed(from + i, 0)));
      await rig.write(ID, {
        ...{ op: 'insertBatch', count: some.length, vectors, requestIds: null, keyIds: some },
        ...{ texts: null, metadata: some.map((keyId) => Buffer.from(JSON.stringify({ keyId }))) },
      });
    }
    const shredded = keyIds.slice(0, KEYS);
    for (let from = 0; from < KEYS; from += AT_ONCE)
      await Promise.all(shredded.slice(from, from + AT_ONCE).map((keyId) => rig.shred(keyId)));
    const stateHash = (): string => rig.collection(ID).hosted.openCollection!.stateHash()!.stateHash;
    const before = stateHash();
    await rig.restart();
    expect(await rig.read(ID, { op: 'describe' })).to.include({ records: 1 });
    expect(stateHash()).to.equal(before);
    const { records, refusal, state } = await verifyFrames(rig.logs.frames(ID));
    expect(refusal).to.equal(undefined);
    expect(toHex(state.stateHash)).to.equal(before);
    expect(records).to.deep.include({ live: 1, ever: KEYS + 1, shreddedKeys: KEYS, openKeys: [keyOf(KEYS + 1)] });
    const { ids } = (await rig.read(ID, { op: 'search', query: fixed(0, 0), k: 10 })) as Results['search'];
    expect([...new Float64Array(ids.slice().buffer)]).to.deep.equal([KEYS + 1]);
    await rig.stop();
  });
});
