// Covers: shared/registry/entryShapes.ts, shared/registry/owners.ts, shared/registry/catalogEntry.ts
// Covers: shared/registry/keys.ts, shared/registry/signers.ts
/** The checks of bucket entries that another writer has stored. */
import { expect } from 'chai';
import { connect, type NatsConnection } from 'nats';
import type { Bucket, BucketValue, Watch } from '../../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { isEntryOf } from '../../../../shared/registry/entryShapes.js';
import { storedHeartbeat } from '../../../../shared/registry/owners.js';
import { eventually, expectCode } from '../../../support/expectations.js';
import { startTestNats, type TestNats } from '../../../support/launch/natsServer.js';
import { BUCKET_ENTRIES, HEARTBEAT, OWNER } from '../../../support/nats/bucketEntries.js';
import { ClusterPlatforms } from '../../../support/nats/clusterPlatforms.js';

describe('bucket entries', () => {
  for (const [bucket, key, value] of BUCKET_ENTRIES) {
    const fields = value as Readonly<Record<string, BucketValue>>;

    it(`in ${bucket} are accepted as written, and with fields of a later version`, () => {
      expect(isEntryOf(bucket, key, value)).to.equal(true);
      if (bucket !== BUCKETS.quota) expect(isEntryOf(bucket, key, { ...fields, later: [1] })).to.equal(true);
    });

    it(`in ${bucket} are refused if a field has another type`, () => {
      for (const wrong of [null, 5, 'x', [], [{}]]) expect(isEntryOf(bucket, key, wrong)).to.equal(false);
      for (const [field, right] of Object.entries(fields))
        expect(isEntryOf(bucket, key, { ...fields, [field]: Array.isArray(right) ? {} : [5] }), field).to.equal(false);
    });
  }

  it('are refused under another key if they name their key', () => {
    for (const [bucket, key, value] of BUCKET_ENTRIES.slice(0, 3))
      expect(isEntryOf(bucket, `${key}1`, value)).to.equal(bucket === BUCKETS.shards);
  });

  it('for API keys are refused if a time is not a valid date', () => {
    const [, key, value] = BUCKET_ENTRIES.find(([bucket]) => bucket === BUCKETS.keys)!;
    const fields = value as Readonly<Record<string, BucketValue>>;
    for (const field of ['created_at_ms', 'expires_at_ms', 'expired_at_ms'])
      for (const [timeMs, isTaken] of [
        [8.64e15, true],
        [8.64e15 + 1, false],
        [-1, false],
        [0.5, false],
      ] as const)
        expect(isEntryOf(BUCKETS.keys, key, { ...fields, [field]: timeMs }), `${field} ${timeMs}`).to.equal(isTaken);
  });

  it('for shards of another version are accepted with unknown kinds of damage', () => {
    const damages = [{ collectionId: null, part: 'something new', reason: 'x' }];
    expect(isEntryOf(BUCKETS.shards, 's1', storedHeartbeat({ ...HEARTBEAT, damages: damages as [] }))).to.equal(true);
  });
});

describe('a bucket with entries of another writer', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let direct: NatsConnection;
  let bucket: Bucket;
  let watch: Watch | undefined;
  before(async () => {
    nats = await startTestNats();
    direct = await connect({ servers: nats.url });
    bucket = await (await platforms.open(nats.url)).bucket(BUCKETS.owners);
  });
  after(async () => {
    watch?.stop();
    await platforms.close();
    await direct.close();
    await nats.stop();
  });

  it('returns and reports the valid entries only', async () => {
    const changed: string[] = [];
    watch = await bucket.watch(({ key }) => changed.push(key));
    const js = direct.jetstream();
    const wrong = ['{}', 'null', '{"shard":5}', 'no JSON', JSON.stringify(OWNER)];
    for (const [n, text] of wrong.entries()) await js.publish(`$KV.${BUCKETS.owners}.${n + 100}`, text);
    await bucket.put('7', OWNER);
    await eventually('the change arrives', async () => changed.includes('7'));
    expect(changed).to.deep.equal(['7']);
    for (const n of wrong.keys()) await expectCode(bucket.get(String(n + 100)), 'internal_error');
    expect((await bucket.get('7'))?.value).to.deep.equal(OWNER);
    await js.publish(`$KV.${BUCKETS.owners}.7`, '{}');
    await expectCode(bucket.get('7'), 'internal_error');
    await bucket.put('7', OWNER);
    expect((await bucket.get('7'))?.value).to.deep.equal(OWNER);
  });
});
