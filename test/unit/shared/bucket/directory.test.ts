// Covers: shared/bucket/directory.ts, shared/bucket/directoryFile.ts, shared/bucket/bucket.ts
// Covers: shared/bucket/directoryView.ts, shared/bucket/revisions.ts, shared/bucket/watchers.ts
/** A bucket in a folder: its files, changes by another process, and damage. */
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Change } from '../../../../shared/bucket/bucket.js';
import { DirectoryBucket } from '../../../../shared/bucket/directory.js';
import { encodeEntry, fileNameOf } from '../../../../shared/bucket/directoryFile.js';
import { silentLogger } from '../../../../shared/logger.js';
import { eventually, expectCode, rejection } from '../../../support/expectations.js';
import { fileHandlePrototype, systemError } from '../../../support/failingFiles.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

/** Makes the nth sync of a file or folder from now on fail with EIO. Returns a function that undoes this. */
async function failNthSync(nth: number): Promise<() => void> {
  const prototype = await fileHandlePrototype();
  const { sync } = prototype;
  let syncs = 0;
  prototype.sync = function () {
    return ++syncs === nth ? Promise.reject(systemError('EIO')) : sync.call(this);
  };
  return () => {
    prototype.sync = sync;
  };
}

describe('a directory bucket', () => {
  let folder: string;
  let opened: DirectoryBucket[] = [];
  const open = async (): Promise<DirectoryBucket> => {
    const bucket = await DirectoryBucket.open({ folder, logger: silentLogger, lookMs: 200 });
    opened.push(bucket);
    return bucket;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-directory-'));
  });
  afterEach(async () => {
    for (const bucket of opened) await bucket.close();
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });

  it('sees keys that another process creates, changes and deletes', async () => {
    const [service, tool] = [await open(), await open()];
    const changes: Change[] = [];
    await service.watch((change) => changes.push(change));
    const created = await tool.create('key', { scope: 'read_only' });
    await eventually('the key is known', async () => (await service.get('key'))?.revision === created);
    const updated = (await tool.update('key', { scope: 'admin' }, created!))!;
    await eventually('the change of the key is known', async () => (await service.get('key'))?.revision === updated);
    await tool.delete('key');
    await eventually('the deletion of the key is known', async () => (await service.get('key')) === undefined);
    expect(changes.map(({ entry }) => entry?.revision)).to.deep.equal([created, updated, undefined]);
  });

  it('lets exactly one of two processes create a key', async () => {
    const [service, tool] = [await open(), await open()];
    for (let i = 0; i < 20; i++) {
      const key = `k${i}`;
      const outcomes = await Promise.all([service.create(key, 'service'), tool.create(key, 'tool')]);
      expect(outcomes.filter((revision) => revision !== undefined)).to.have.length(1);
      const winner = outcomes[0] === undefined ? 'tool' : 'service';
      for (const bucket of [service, tool]) expect((await bucket.put(`${key}.seen`, 0)) > 0).to.equal(true);
      await eventually('both processes know the winner', async () => {
        const values = await Promise.all([service, tool].map(async (bucket) => (await bucket.get(key))?.value));
        return values.every((value) => value === winner);
      });
    }
  });

  it('misses no change of another process, at any rate', async () => {
    const random = seededRandom(testSeed());
    const [service, tool] = [await open(), await open()];
    const seen = new Map<string, unknown>();
    await service.watch(({ key, entry }) => (entry === undefined ? seen.delete(key) : seen.set(key, entry.value)));
    const expected = new Map<string, unknown>();
    for (let i = 0; i < 300; i++) {
      const key = `k${random.int(30)}`;
      const writer = random.next() < 0.8 ? tool : service;
      if (random.next() < 0.3) {
        await writer.delete(key);
        expected.delete(key);
      } else {
        await writer.put(key, i);
        expected.set(key, i);
      }
    }
    const sorted = (map: Map<string, unknown>): string => JSON.stringify([...map].sort());
    await eventually('the watcher has every change', () => sorted(seen) === sorted(expected));
  });

  it('makes its folder again if it was removed while it was empty', async () => {
    folder = join(folder, 'registry', 'bucket');
    const bucket = await open();
    await rm(join(folder, '..'), { recursive: true });
    expect(await bucket.get('key')).to.equal(undefined);
    const revision = await bucket.create('key', 1);
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    expect((await (await open()).get('key'))!.revision).to.equal(revision);
    await bucket.delete('key');
    await rm(folder, { recursive: true });
    await eventually(
      'a look makes the folder',
      async () => (await readdir(folder).catch(() => undefined)) !== undefined,
    );
    expect((await bucket.create('key', 2))! > revision!).to.equal(true);
  });

  it('does not make its folder again if that was removed with entries, until it is back', async () => {
    const bucket = await open();
    for (const key of ['one', 'two']) await bucket.put(key, key);
    await rename(folder, `${folder}.aside`);
    for (const key of ['one', 'two', 'three', 'three']) await expectCode(bucket.put(key, 'new'), 'unavailable');
    await rename(`${folder}.aside`, folder);
    await eventually('the entries are back', async () => (await bucket.get('two'))?.value === 'two');
    await bucket.put('three', 'new');
    expect(await Promise.all(['one', 'two', 'three'].map(async (key) => (await bucket.get(key))?.value))).to.deep.equal(
      ['one', 'two', 'new'],
    );
  });

  it('reports a write as unavailable if its sync fails, and shows its actual value', async () => {
    const bucket = await open();
    const seen: unknown[] = [];
    await bucket.put('key', 1);
    await bucket.watch(({ entry }) => seen.push(entry?.value));
    const restore = await failNthSync(2);
    try {
      // The file already has its name; whether the name is durable is unknown.
      await expectCode(bucket.put('key', 2), 'unavailable');
    } finally {
      restore();
    }
    await eventually('the watcher reports both changes', () => seen.length === 2);
    expect(seen).to.deep.equal([1, 2]);
    expect((await bucket.get('key'))!.value).to.equal(2);
  });

  it('has reported the actual effect of a failed write once a watch has caught up', async () => {
    const bucket = await open();
    const seen: unknown[] = [];
    await bucket.put('key', 1);
    const watch = await bucket.watch(({ entry }) => seen.push(entry?.value));
    const restore = await failNthSync(2);
    try {
      await expectCode(bucket.put('key', 2), 'unavailable');
    } finally {
      restore();
    }
    await watch.caughtUp();
    expect(seen).to.deep.equal([1, 2]);
  });

  it('gives a key a higher revision at each write, by any process', async () => {
    const [service, tool] = [await open(), await open()];
    let revision = 0;
    for (let i = 0; i < 10; i++) {
      const next = await (i % 2 === 0 ? service : tool).put('key', i);
      expect(next).to.be.greaterThan(revision);
      revision = next;
    }
  });

  it('stores its entries as private JSON files that an operator can read', async () => {
    const bucket = await open();
    const revision = await bucket.create('Abc.d', { project: 'default' });
    const path = join(folder, '%41bc.d.json');
    const stored = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    expect(stored).to.include({ version: 1, key: 'Abc.d', revision });
    expect(stored.value).to.deep.equal({ project: 'default' });
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });

  it('names files without collisions where case is ignored, within the length limit', () => {
    const keys = ['a', 'A', 'aB', 'Ab', 'AB', '=41', 'a=', 'A'.repeat(255), `${'A'.repeat(254)}B`, 'a'.repeat(255)];
    const names = keys.map((key) => fileNameOf(key).toLowerCase());
    expect(new Set(names).size).to.equal(keys.length);
    for (const name of names) expect(name).to.match(/^[a-z0-9_=%~-][a-z0-9_.=%~-]{0,250}\.json$/);
  });

  it('does not open if a file is damaged, and names the file', async () => {
    const bucket = await open();
    await bucket.put('whole', 1);
    await bucket.put('damaged', { records: 10 });
    await bucket.close();
    const path = join(folder, 'damaged.json');
    const content = await readFile(path, 'utf8');
    const damages: [string, RegExp][] = [
      [content.replace('10', '11'), /its checksum does not verify/],
      [
        content.replace('"version":1', '"version":9'),
        /entry version 9 is not known here; this program reads version 1/,
      ],
      [content.slice(0, 20), /is damaged/],
      [encodeEntry({ key: 'other', revision: 5, value: 1 }), /it holds the entry of other/],
    ];
    for (const [damaged, reason] of damages) {
      await writeFile(path, damaged);
      const { message } = await rejection(open());
      expect(message).to.contain(path);
      expect(message).to.match(reason);
    }
    await writeFile(path, content);
    expect((await (await open()).get('damaged'))!.value).to.deep.equal({ records: 10 });
  });

  it('keeps the last known entry if its file is damaged while it runs', async () => {
    const bucket = await open();
    await bucket.put('key', 1);
    await writeFile(join(folder, 'key.json'), 'rubbish');
    await bucket.put('other', 1);
    expect((await bucket.get('key'))!.value).to.equal(1);
    const revision = await bucket.put('key', 2);
    expect((await (await open()).get('key'))!.revision).to.equal(revision);
  });

  it('opens with thousands of entries, and later reads only the one that changes', async () => {
    const count = 5_000;
    const keyOf = (i: number): string => `project.collection-${i}`;
    for (let i = 0; i < count; i++)
      await writeFile(
        join(folder, fileNameOf(keyOf(i))),
        encodeEntry({ key: keyOf(i), revision: i + 1, value: { i } }),
      );
    const [service, tool] = [await open(), await open()];
    const changes: Change[] = [];
    await service.watch((change) => changes.push(change));
    expect(changes.map(({ entry }) => entry!.revision)).to.deep.equal(Array.from({ length: count }, (_, i) => i + 1));
    const revision = await tool.put(keyOf(77), 'new');
    expect(revision).to.be.greaterThan(count);
    await eventually('the watcher reports the change', () => changes.length > count);
    expect(changes.slice(count)).to.deep.equal([{ key: keyOf(77), entry: { key: keyOf(77), revision, value: 'new' } }]);
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).to.deep.equal([]);
  });
});
