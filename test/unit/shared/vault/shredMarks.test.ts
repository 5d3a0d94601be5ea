import { expect } from 'chai';
import { MARK } from '../../../../shard/vault/wrappedKey.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type ShredMark, ShredMarks } from '../../../../shared/vault/shredMarks.js';

const KEY_ID = '0123456789abcdef'.repeat(2);

describe('marks of unsettled vault entries', () => {
  let bucket: MemoryBucket;
  let marks: ShredMarks;
  let marked: Map<string, ShredMark>;
  beforeEach(async () => {
    bucket = new MemoryBucket({ logger: silentLogger });
    marks = new ShredMarks(bucket, systemClock);
    marked = new Map();
    await marks.watch(marked);
  });
  afterEach(() => bucket.close());

  const names = (): object[] => [...marked.values()].map(({ project, keyId }) => ({ project, keyId }));

  it('name their entry; the entry of the master key, which has no project, too', async () => {
    for (const { project, keyId } of [{ project: 'p_1-x', keyId: KEY_ID }, MARK]) {
      await marks.set(project, keyId);
      expect(names()).to.deep.equal([{ project, keyId }]);
      await marks.clear(project, keyId);
      expect(names()).to.deep.equal([]);
    }
  });

  it('are skipped if they name no entry', async () => {
    for (const key of ['p', KEY_ID, 'p.q', `p.${KEY_ID}0`]) await bucket.put(key, { since_ms: 1 });
    expect(names()).to.deep.equal([]);
  });
});
