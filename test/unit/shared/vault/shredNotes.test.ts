import { expect } from 'chai';
import { MASTER_ENTRY } from '../../../../shard/vault/wrappedKey.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type ShredNote, ShredNotes } from '../../../../shared/vault/shredNotes.js';

const KEY_ID = '0123456789abcdef'.repeat(2);

describe('notes of unsettled vault entries', () => {
  let bucket: MemoryBucket;
  let notes: ShredNotes;
  let noted: Map<string, ShredNote>;
  beforeEach(async () => {
    bucket = new MemoryBucket({ logger: silentLogger });
    notes = new ShredNotes(bucket, systemClock);
    noted = new Map();
    await notes.watch(noted);
  });
  afterEach(() => bucket.close());

  const names = (): object[] => [...noted.values()].map(({ project, keyId }) => ({ project, keyId }));

  it('name their entry; the entry of the master key, which has no project, too', async () => {
    for (const { project, keyId } of [{ project: 'p_1-x', keyId: KEY_ID }, MASTER_ENTRY]) {
      await notes.set(project, keyId);
      expect(names()).to.deep.equal([{ project, keyId }]);
      await notes.clear(project, keyId);
      expect(names()).to.deep.equal([]);
    }
  });

  it('keep their actor when the service sets them again', async () => {
    const actor = { keyId: 'k1', onBehalfOf: null, requestId: 'r-1' };
    const by = (): unknown => [...noted.values()].map((note) => note.actor);
    await notes.set('p', KEY_ID);
    expect(by()).to.deep.equal([undefined]);
    await notes.set('p', KEY_ID, actor);
    await notes.set('p', KEY_ID);
    expect(by()).to.deep.equal([actor]);
  });

  it('are skipped if they name no entry', async () => {
    for (const key of ['p', KEY_ID, 'p.q', `p.${KEY_ID}0`]) await bucket.put(key, { since_ms: 1 });
    expect(names()).to.deep.equal([]);
  });
});
