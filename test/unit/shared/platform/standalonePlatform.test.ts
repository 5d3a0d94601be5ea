/** The standalone platform: one data folder, one process, and complete data after a restart. */
import { mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { LOG_START } from '../../../../shared/log/eventLog.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { Platform } from '../../../../shared/platform/platform.js';
import { openFolderVault, openRegistryBucket, openStandalone } from '../../../../shared/platform/standalonePlatform.js';
import { eventually, expectCode, rejection } from '../../../support/expectations.js';

describe('the standalone platform', () => {
  let dataDir: string;
  let platform: Platform | undefined;
  const options = (): Parameters<typeof openStandalone>[0] => ({ dataDir, logger: silentLogger });
  const open = async (): Promise<Platform> => {
    platform = await openStandalone(options());
    return platform;
  };
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'vouch-standalone-')), 'data');
  });
  afterEach(async () => {
    await platform?.close();
    platform = undefined;
    await rm(join(dataDir, '..'), { recursive: true, force: true });
  });

  it('keeps logs and persistent buckets over a restart, and removes its lock at the end', async () => {
    const first = await open();
    expect(first.mode).to.equal('standalone');
    const log = await first.logs.open(1);
    const position = await log.append(new Uint8Array([1, 2, 3]), LOG_START, Number.POSITIVE_INFINITY);
    await (await first.bucket(BUCKETS.catalog)).create('default.words', { id: 1 });
    await (await first.bucket(BUCKETS.shards, { ttlMs: 60_000 })).put('shard', 1);
    await first.close();
    await first.close();
    expect((await readdir(dataDir)).sort()).to.deep.equal(['collections', 'registry']);
    const second = await open();
    expect(await (await second.logs.open(1)).head()).to.deep.equal({ position, bytes: new Uint8Array([1, 2, 3]) });
    expect((await (await second.bucket(BUCKETS.catalog)).get('default.words'))!.value).to.deep.equal({ id: 1 });
    expect(await (await second.bucket(BUCKETS.shards, { ttlMs: 60_000 })).get('shard')).to.equal(undefined);
  });

  it("reports the free bytes of its folder's disk", async () => {
    const { usedBytes, freeBytes } = await (await open()).storeRoom();
    const { bavail, blocks, bsize } = await statfs(dataDir);
    expect(usedBytes).to.equal(undefined);
    expect(freeBytes)
      .to.be.within(1, blocks * bsize)
      .and.closeTo(bavail * bsize, blocks * bsize * 0.1);
  });

  it('recognises the errors of a disk that is full or read-only', async () => {
    const platform = await open();
    const recognised = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].map((code) =>
      platform.refusesWrites(Object.assign(new Error('write'), { code })),
    );
    expect(recognised).to.deep.equal([true, true, true, false]);
  });

  it('gives every caller the same bucket', async () => {
    const { bucket } = { bucket: (await open()).bucket.bind(platform) };
    const [one, two] = await Promise.all([bucket(BUCKETS.leases), bucket(BUCKETS.leases)]);
    const outcomes = await Promise.all([one, two, one, two].map((each) => each.create('lease', 1)));
    expect(outcomes.filter((revision) => revision !== undefined)).to.have.length(1);
  });

  it('gives every caller one vault, shared with tools and kept over a restart', async () => {
    const first = await open();
    const [one, two] = await Promise.all([first.vault(), first.vault()]);
    expect(one).to.equal(two);
    const keyId = '0'.repeat(32);
    const shredded = { status: 'shredded', wrapped: null, collectionIds: [], pendingIds: [] } as const;
    await one.create('default', keyId, shredded);
    const tool = await openFolderVault(dataDir);
    expect((await tool.get('default', keyId))!.entry).to.deep.equal(shredded);
    await tool.close();
    await first.close();
    await expectCode(one.get('default', keyId), 'unavailable');
    await expectCode(first.vault(), 'unavailable');
    expect((await (await (await open()).vault()).get('default', keyId))!.entry).to.deep.equal(shredded);
  });

  it('refuses a folder that another process has opened, in one line', async () => {
    await open();
    const { message } = await rejection(openStandalone(options()));
    expect(message).to.contain(`in use by process ${process.pid}`).and.not.to.contain('\n');
  });

  it('refuses a folder that cannot be written, in one line', async () => {
    const file = join(dataDir, '..', 'file');
    await writeFile(file, '');
    for (const path of [file, join(file, 'data')]) {
      const { message } = await rejection(openStandalone({ dataDir: path, logger: silentLogger }));
      expect(message).to.equal(
        `the data folder ${path} cannot be written (ENOTDIR); set VOUCH_DATA_DIR to one that can`,
      );
    }
  });

  it('knows a key that a tool beside it has made', async () => {
    const keys = await (await open()).bucket(BUCKETS.keys);
    const tool = await openRegistryBucket(options(), BUCKETS.keys);
    const revision = await tool.create('0'.repeat(64), { project: 'default' });
    await tool.close();
    await eventually('the key is known', async () => (await keys.get('0'.repeat(64)))?.revision === revision);
  });

  it('answers unavailable in all its parts once it is closed', async () => {
    const closed = await open();
    const bucket = await closed.bucket(BUCKETS.catalog);
    await closed.close();
    await expectCode(closed.bucket(BUCKETS.catalog), 'unavailable');
    await expectCode(bucket.get('a'), 'unavailable');
    await expectCode(closed.logs.open(1), 'unavailable');
    await expectCode(closed.logs.remove(1), 'unavailable');
    await expectCode(
      closed.transport.serve('vouch.test', async ({ body }) => body),
      'unavailable',
    );
  });
});
