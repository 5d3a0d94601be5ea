// Covers: shared/files/durable.ts, shared/files/folderLock.ts, shared/files/isRunning.ts
/** Durable files, which are whole or absent, and the lock that reserves a data folder for one process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';
import {
  createFile,
  DurableFile,
  deleteEmptyDirectory,
  deleteFile,
  deleteLeftovers,
  deleteTree,
  eraseFile,
  eraseLeftovers,
  isSuperseding,
  makeDirectory,
  move,
  replaceFile,
  StreamedFile,
  supersedeFile,
  syncFile,
} from '../../../../shared/files/durable.js';
import { lockFolder } from '../../../../shared/files/folderLock.js';
import { rejection } from '../../../support/expectations.js';
import { skip } from '../../../support/skip.js';

describe('durable files', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-durable-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('are replaced whole: a reader finds the old content or the new', async () => {
    const contents = Array.from({ length: 20 }, (_, i) => `${i}`.repeat(50_000));
    await replaceFile(at('file'), contents[0]!);
    let writing = true;
    const written = (async () => {
      for (const content of contents) await replaceFile(at('file'), content);
      writing = false;
    })();
    while (writing) expect(contents).to.include(await readFile(at('file'), 'utf8'));
    await written;
    expect(await readFile(at('file'), 'utf8')).to.equal(contents[19]);
    expect(await readdir(folder)).to.deep.equal(['file']);
  });

  it('are created by exactly one of many creators', async () => {
    const created = await Promise.all(Array.from({ length: 20 }, (_, i) => createFile(at('file'), `creator ${i}`)));
    expect(created.filter((won) => won)).to.have.length(1);
    expect(await readFile(at('file'), 'utf8')).to.equal(`creator ${created.indexOf(true)}`);
    expect(await readdir(folder)).to.deep.equal(['file']);
  });

  it('and their folders are private to the owner under any umask', async () => {
    const umask = process.umask(0);
    try {
      await makeDirectory(at('a/b'));
      await createFile(at('created'), 'x');
      await replaceFile(at('replaced'), 'x');
      await createFile(at('superseded'), 'x');
      await supersedeFile(at('superseded'), 'y');
      const streamed = await StreamedFile.begin(at('streamed'));
      await streamed.finish();
      await (await DurableFile.create(at('appended'))).close();
      await writeFile(at('by a library'), 'x');
      await syncFile(at('by a library'));
      const modes = await Promise.all(
        (await readdir(folder, { recursive: true })).map(async (name) => [name, (await stat(at(name))).mode & 0o777]),
      );
      expect(Object.fromEntries(modes)).to.deep.equal({
        a: 0o700,
        'a/b': 0o700,
        created: 0o600,
        replaced: 0o600,
        superseded: 0o600,
        streamed: 0o600,
        appended: 0o600,
        'by a library': 0o600,
      });
    } finally {
      process.umask(umask);
    }
  });

  it('leave nothing behind if they cannot be written', async () => {
    await mkdir(at('folder'));
    await rejection(replaceFile(at('folder'), 'x'));
    await rejection(createFile(at('missing/file'), 'x'));
    expect(await readdir(folder)).to.deep.equal(['folder']);
  });

  it('are deleted and moved, with the answer whether they existed', async () => {
    await createFile(at('a'), 'x');
    expect(await move(at('a'), at('b'))).to.equal(true);
    expect(await move(at('a'), at('b'))).to.equal(false);
    expect(await deleteFile(at('b'))).to.equal(true);
    expect(await deleteFile(at('b'))).to.equal(false);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('are in folders that are made with their parents, and deleted with their content', async () => {
    expect(await makeDirectory(at('a/b/c'))).to.equal(true);
    expect(await makeDirectory(at('a/b/c'))).to.equal(false);
    await createFile(at('a/b/c/file'), 'x');
    await deleteEmptyDirectory(at('a/b/c'));
    expect(await readFile(at('a/b/c/file'), 'utf8')).to.equal('x');
    await deleteTree(at('a/b'));
    await deleteTree(at('a/b'));
    await deleteEmptyDirectory(at('a'));
    expect(await readdir(folder)).to.deep.equal([]);
    await deleteTree(at('a/b'));
  });

  it('in /proc fail with ENOENT instead of a loop of attempts to make folders', async function () {
    if (process.platform !== 'linux') skip(this, 'there is no /proc, in which no process can make a folder');
    expect(await rejection(makeDirectory('/proc/nothing/in/it'))).to.include({ code: 'ENOENT' });
  });

  it('are erased: random bytes replace their content under every name', async () => {
    await createFile(at('secret'), 'x'.repeat(100_000));
    await link(at('secret'), at('other name'));
    expect(await eraseFile(at('secret'))).to.equal(true);
    expect(await eraseFile(at('secret'))).to.equal(false);
    const left = await readFile(at('other name'));
    expect(left).to.have.length(100_000);
    expect(left.includes('xxxx')).to.equal(false);
    expect(await readdir(folder)).to.deep.equal(['other name']);
  });

  it('are superseded: the new content is whole, and the old content is erased', async () => {
    await createFile(at('file'), 'x'.repeat(1_000));
    await link(at('file'), at('old'));
    await supersedeFile(at('file'), 'new');
    expect(await readFile(at('file'), 'utf8')).to.equal('new');
    expect((await readFile(at('old'))).includes('xxxx')).to.equal(false);
    expect((await stat(at('file'))).mode & 0o777).to.equal(0o600);
    expect(await isSuperseding(at('file'))).to.equal(false);
    expect((await readdir(folder)).sort()).to.deep.equal(['file', 'old']);
    await rejection(supersedeFile(at('missing'), 'new'));
    expect(await readdir(folder)).not.to.include('missing');
  });

  it('are whole after a process ended while it superseded them', async () => {
    // Before the new content had its name: the old content is valid, and also linked under the name for its erasure.
    await writeFile(at('a'), 'old a');
    await link(at('a'), at('.a.superseded'));
    await writeFile(at('.a.next'), 'new a, half');
    // After that: the old content waits for its erasure.
    await writeFile(at('b'), 'new b');
    await writeFile(at('.b.superseded'), 'old b');
    await link(at('.b.superseded'), at('old b'));
    for (const name of ['a', 'b']) expect(await isSuperseding(at(name))).to.equal(true);
    await eraseLeftovers(folder);
    expect((await readdir(folder)).sort()).to.deep.equal(['a', 'b', 'old b']);
    expect(await readFile(at('a'), 'utf8')).to.equal('old a');
    expect(await readFile(at('b'), 'utf8')).to.equal('new b');
    expect(await readFile(at('old b'), 'utf8')).not.to.equal('old b');
  });

  it('are erased after an unfinished creation, unless they already had their name', async () => {
    await writeFile(at('.999999999-0-1.tmp'), 'no name yet');
    await writeFile(at('.999999999-0-2.tmp'), 'with a name');
    await link(at('.999999999-0-2.tmp'), at('named'));
    await writeFile(at(`.${process.pid}-0-1.tmp`), 'being written');
    await eraseLeftovers(folder);
    expect((await readdir(folder)).sort()).to.deep.equal([`.${process.pid}-0-1.tmp`, 'named']);
    expect(await readFile(at('named'), 'utf8')).to.equal('with a name');
  });

  it('are deleted after an unfinished write if its process is gone, and kept if it lives', async () => {
    await writeFile(at(`.${process.pid}-0-1.tmp`), 'being written');
    await writeFile(at('.999999999-0-1.tmp'), 'left behind');
    await writeFile(at('.hidden'), 'a file of another program');
    await deleteLeftovers(folder);
    expect((await readdir(folder)).sort()).to.deep.equal([`.${process.pid}-0-1.tmp`, '.hidden'].sort());
  });

  it('are read and written in place', async () => {
    await createFile(at('file'), 'abcdef');
    const file = await DurableFile.open(at('file'));
    await file.write(Buffer.from('XY'), 2);
    file.writeNow(Buffer.from('Z!'), 6);
    await file.sync();
    await file.truncate(7);
    expect(await file.sizeBytes()).to.equal(7);
    const into = Buffer.alloc(10);
    expect(await file.read(into, 1)).to.equal(6);
    expect(into.toString('latin1', 0, 6)).to.equal('bXYefZ');
    await file.close();
    expect((await rejection(DurableFile.open(at('missing')))).message).to.contain('ENOENT');
  });
});

describe('the lock of a data folder', () => {
  let folder: string;
  let child: ChildProcess | undefined;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-lock-'));
  });
  afterEach(async () => {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    child = undefined;
    await rm(folder, { recursive: true, force: true });
  });
  const plant = (holder: unknown): Promise<void> => writeFile(join(folder, 'lock'), JSON.stringify(holder));

  /** Starts a process that has the lock until it is killed. */
  async function holdElsewhere(): Promise<ChildProcess> {
    const program = `
      import { lockFolder } from ${JSON.stringify(new URL('../../../../shared/files/folderLock.js', import.meta.url).href)};
      await lockFolder(${JSON.stringify(folder)});
      process.stdout.write('locked');
      setInterval(() => {}, 1000);`;
    const args = ['--input-type=module', '-e', program];
    child = guarded(spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    await once(child.stdout!, 'data');
    return child;
  }

  it('is refused to a second process, with the id of the first, until that one has ended', async () => {
    const holder = await holdElsewhere();
    const refusal = (await rejection(lockFolder(folder))).message;
    expect(refusal).to.contain(`in use by process ${holder.pid};`).and.to.contain(folder);
    expect(refusal).not.to.contain('\n');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const lock = await lockFolder(folder);
    await lock.release();
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('is refused to a second opener in the same process', async () => {
    const lock = await lockFolder(folder);
    expect((await rejection(lockFolder(folder))).message).to.contain(`in use by process ${process.pid};`);
    await lock.release();
    await (await lockFolder(folder)).release();
  });

  it('is free although a failed release has left its file behind', async () => {
    const lock = await lockFolder(folder);
    const content = await readFile(join(folder, 'lock'));
    // A folder cannot be read as a file, so the release fails.
    await rm(join(folder, 'lock'));
    await mkdir(join(folder, 'lock'));
    await rejection(lock.release());
    await rm(join(folder, 'lock'), { recursive: true });
    await writeFile(join(folder, 'lock'), content);
    await (await lockFolder(folder)).release();
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('goes to exactly one of many openers if its owner is dead', async () => {
    await plant({ host: hostname(), pid: 999_999_999, started: 'long ago' });
    const outcomes = await Promise.allSettled(Array.from({ length: 2 }, () => lockFolder(folder)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
  });

  it("is free if a later process has the owner's id", async () => {
    await plant({ host: hostname(), pid: process.pid, started: 'another start' });
    await (await lockFolder(folder)).release();
  });

  it('is refused with advice if it belongs to a process of another host', async () => {
    await plant({ host: 'elsewhere', pid: 1, started: null });
    expect((await rejection(lockFolder(folder))).message)
      .to.contain('process 1 of host elsewhere')
      .and.to.contain(join(folder, 'lock'));
  });

  it('is free if its file is unreadable', async () => {
    await writeFile(join(folder, 'lock'), 'torn');
    await (await lockFolder(folder)).release();
  });
});
