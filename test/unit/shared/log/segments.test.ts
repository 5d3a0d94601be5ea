// Covers: shared/log/segments.ts, shared/log/segmentFormat.ts, shared/log/segmentFiles.ts
/** A local log over its files: after a crash, a torn write, or a failed disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { guarded } from '../../../../scripts/local/supervisor/guarded.js';
import { DurableFile } from '../../../../shared/files/durable.js';
import { hash } from '../../../../shared/hashing/hash.js';
import { encodeReach, encodeSegmentHeader, REACH_OFFSET, segmentName } from '../../../../shared/log/segmentFormat.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import { expectCode, rejection } from '../../../support/expectations.js';
import { fileHandlePrototype, systemError } from '../../../support/failingFiles.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import {
  append,
  COLLECTION,
  frameOf,
  HEADER_BYTES,
  labels,
  SegmentFolder,
  soonMs,
} from '../../../support/rigs/segmentFolder.js';
import { skip } from '../../../support/skip.js';

describe('local segments', () => {
  let folder: SegmentFolder;
  beforeEach(async () => {
    folder = await SegmentFolder.make();
  });
  afterEach(() => folder.remove());

  describe('in their layout', () => {
    it('have the documented bytes', async () => {
      await folder.write({}, 1, 2);
      const bytes = await readFile(folder.segmentPath());
      const checksum = (part: Buffer): string => Buffer.from(hash(part)).toString('hex', 0, 8);
      expect(basename(folder.segmentPath())).to.equal('0000000000000000.seg');
      expect(bytes.length).to.equal(HEADER_BYTES + 2 * 116);
      expect(bytes.toString('latin1', 0, 4)).to.equal('VSEG');
      expect([bytes.readUInt32LE(4), bytes.readBigUInt64LE(8), bytes.readBigUInt64LE(16)]).to.deep.equal([2, 5n, 0n]);
      expect(bytes.toString('hex', 24, 32)).to.equal(checksum(bytes.subarray(0, 24)));
      expect([32, 40, 48].map((at) => bytes.readBigUInt64LE(at))).to.deep.equal([180n, 296n, 0n]);
      expect(bytes.toString('hex', 56, 64)).to.equal(checksum(bytes.subarray(32, 56)));
      expect(bytes.readUInt32LE(180)).to.equal(100);
      expect(bytes.toString('hex', 188, 196)).to.equal(checksum(bytes.subarray(196, 296)));
      expect(bytes.subarray(196)).to.deep.equal(Buffer.alloc(100, 2));
    });

    it('make no file for a log that was never written', async () => {
      const log = await folder.open();
      expect(await log.head()).to.equal(undefined);
      expect(await readdir(folder.path)).to.deep.equal(['removed']);
    });

    it('begin a new segment when one is full, and read across them', async () => {
      await folder.write({ segmentBytes: 300 }, 1, 2, 3, 4, 5);
      expect((await readdir(folder.logPath)).sort()).to.deep.equal([0, 296, 592].map(segmentName));
      const log = await folder.open({ segmentBytes: 300 });
      expect(await labels(log)).to.deep.equal([1, 2, 3, 4, 5]);
      expect((await log.head())!.position).to.equal(592 + HEADER_BYTES);
    });

    it('name in each ended segment the base of the next', async () => {
      await folder.write({ segmentBytes: 300 }, 1, 2, 3, 4, 5);
      const bytes = await Promise.all([0, 296, 592].map((base) => readFile(folder.segmentPath(base))));
      expect(bytes.map((segment) => segment.readBigUInt64LE(48))).to.deep.equal([296n, 592n, 0n]);
    });

    for (const isEnded of [false, true])
      it(`continue after a crash between ${isEnded ? 'the end of a segment and the first frame of the next' : 'the creation of a segment and the end of the previous one'}`, async () => {
        await folder.write({}, 1, 2);
        await writeFile(folder.segmentPath(296), encodeSegmentHeader({ collectionId: COLLECTION, base: 296 }));
        if (isEnded) await folder.setReach(0, { head: 180, end: 296, next: 296 });
        const log = await folder.open();
        expect((await log.head())!.bytes[0]).to.equal(2);
        expect((await readFile(folder.segmentPath())).readBigUInt64LE(48)).to.equal(296n);
        await append(log, 3);
        expect(await labels(log)).to.deep.equal([1, 2, 3]);
      });

    it('keep a bounded number of files open for any number of logs', async function () {
      if (process.platform !== 'linux') skip(this, 'open files are read from /proc, which Linux has');
      await folder.open({ openFilesMax: 4 });
      for (let id = 100; id < 130; id++) await append(await folder.logs.open(id), 1, 2);
      const isOurs = async (fd: string): Promise<boolean> =>
        (await readlink(`/proc/self/fd/${fd}`).catch(() => '')).startsWith(folder.path);
      const ours = await Promise.all((await readdir('/proc/self/fd')).map(isOurs));
      expect(ours.filter((yes) => yes)).to.have.length.within(1, 4);
      for (let id = 100; id < 130; id++) expect(await labels(await folder.logs.open(id))).to.deep.equal([1, 2]);
    });
  });

  describe('with a torn tail', () => {
    it('cut it at any crash position, and keep its bytes in a separate file', async () => {
      await folder.write({}, 1, 2, 3);
      const whole = await readFile(folder.segmentPath());
      const before = encodeReach({ head: 180, end: 296, next: 0 });
      for (let length = 296; length <= whole.length; length += length < 318 ? 1 : 9) {
        const crashed = Buffer.from(whole.subarray(0, length));
        crashed.set(before, REACH_OFFSET);
        await writeFile(folder.segmentPath(), crashed);
        const log = await folder.open();
        const survived = length === whole.length ? [1, 2, 3] : [1, 2];
        expect(await labels(log), `cut at ${length}`).to.deep.equal(survived);
        await append(log, 9);
        expect(await labels(log)).to.deep.equal([...survived, 9]);
        const torn = (await readdir(folder.logPath)).filter((name) => name.includes('torn'));
        expect(torn).to.deep.equal(survived.length === 2 && length > 296 ? [`${segmentName(0)}.torn-1`] : []);
        for (const name of torn) {
          expect(await readFile(join(folder.logPath, name))).to.deep.equal(whole.subarray(296, length));
          await rm(join(folder.logPath, name));
        }
        await folder.logs.close();
      }
    });

    it('number the separate files, so that none is overwritten', async () => {
      await folder.write({}, 1);
      for (const rubbish of ['one', 'two', 'three']) {
        await folder.edit(0, (bytes) => Buffer.concat([bytes, Buffer.from(rubbish)]));
        expect(await labels(await folder.open())).to.deep.equal([1]);
        await folder.logs.close();
      }
      expect((await readdir(folder.logPath)).sort()).to.deep.equal(
        ['', '.torn-1', '.torn-2', '.torn-3'].map((suffix) => segmentName(0) + suffix),
      );
      expect(await readFile(`${folder.segmentPath()}.torn-3`, 'utf8')).to.equal('three');
    });

    it('cut zeros that the file system left', async () => {
      await folder.write({}, 1, 2);
      await folder.edit(0, (bytes) => Buffer.concat([bytes, Buffer.alloc(5_000)]));
      expect(await labels(await folder.open())).to.deep.equal([1, 2]);
    });

    it('keep whole frames behind the reach after a power failure', async () => {
      await folder.write({}, 1, 2, 3, 4);
      await folder.setReach(0, { head: 180, end: 296, next: 0 });
      const log = await folder.open();
      expect(await labels(log)).to.deep.equal([1, 2, 3, 4]);
      expect((await log.head())!.bytes[0]).to.equal(4);
    });
  });

  describe('on a failing disk', () => {
    const { sync, write, writeNow } = DurableFile.prototype;
    afterEach(() => Object.assign(DurableFile.prototype, { sync, write, writeNow }));

    const failures: Record<string, () => void> = {
      'in the sync': () => {
        DurableFile.prototype.sync = () => {
          DurableFile.prototype.sync = sync;
          return Promise.reject(systemError('EIO'));
        };
      },
      'half-way through the write': () => {
        DurableFile.prototype.writeNow = function (bytes, offset) {
          DurableFile.prototype.writeNow = writeNow;
          this.writeNow(bytes.subarray(0, bytes.length >> 1), offset);
          throw systemError('ENOSPC');
        };
      },
    };
    for (const [when, fail] of Object.entries(failures)) {
      it(`refuse an append that fails ${when}, and the next one overwrites it`, async () => {
        const log = await folder.open();
        await append(log, 1, 2);
        const { position } = (await log.head())!;
        fail();
        await expectCode(log.append(frameOf(3), position, soonMs()), 'unavailable');
        expect(await labels(log)).to.deep.equal([1, 2]);
        expect((await readFile(folder.segmentPath())).length).to.equal(296);
        await log.append(frameOf(4), position, soonMs());
        expect(await labels(log)).to.deep.equal([1, 2, 4]);
      });
    }

    for (const fails of ['too', 'not'])
      it(`refuse an append after a failed write of the reach once the concurrent large write has ${fails === 'too' ? 'failed too' : 'ended'}`, async () => {
        const log = await folder.open();
        await append(log, 1);
        const { position } = (await log.head())!;
        let hasEnded = false;
        DurableFile.prototype.write = async function (...written) {
          await delay(20);
          hasEnded = true;
          if (fails === 'too') throw systemError('ENOSPC');
          await write.apply(this, written);
        };
        DurableFile.prototype.writeNow = () => {
          Object.assign(DurableFile.prototype, { write, writeNow });
          throw systemError('ENOSPC');
        };
        const large = frameOf(2, 1 << 17);
        await expectCode(log.append(large, position, soonMs()), 'unavailable');
        expect(hasEnded).to.equal(true);
        await append(log, 3);
        expect(await labels(log)).to.deep.equal([1, 3]);
      });

    const syncs = [
      { what: 'of the one before', survived: [1, 3] },
      { what: 'of its reach', survived: [1, 3] },
      // The outcome was unknown; the next read found it whole.
      { what: 'of the first frame', survived: [1, 2, 3] },
    ];
    for (const [nth, { what, survived }] of syncs.entries())
      it(`continue after a failed sync ${what} when a segment begins`, async () => {
        const log = await folder.open({ segmentBytes: 150 });
        await append(log, 1);
        let done = 0;
        DurableFile.prototype.sync = function () {
          if (done++ < nth) return sync.call(this);
          DurableFile.prototype.sync = sync;
          return Promise.reject(systemError('EIO'));
        };
        await expectCode(log.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
        expect(done).to.equal(nth + 1);
        await append(log, 3);
        expect(await labels(log)).to.deep.equal(survived);
        await folder.logs.close();
        expect(await labels(await folder.open())).to.deep.equal(survived);
      });

    it('name the next segment only once the entry of its file is durable', async () => {
      await folder.write({}, 1);
      const base = (await readFile(folder.segmentPath())).length;
      await writeFile(folder.segmentPath(base), encodeSegmentHeader({ collectionId: COLLECTION, base }));
      const order: string[] = [];
      const prototype = await fileHandlePrototype();
      const { sync: syncFolder } = prototype;
      prototype.sync = async function () {
        await syncFolder.call(this);
        order.push('folder');
      };
      DurableFile.prototype.sync = function () {
        order.push('file');
        return sync.call(this);
      };
      try {
        const logs = await LocalLogs.open({ folder: folder.path });
        order.length = 0;
        expect(await labels(await logs.open(COLLECTION))).to.deep.equal([1]);
        await logs.close();
      } finally {
        prototype.sync = syncFolder;
      }
      expect(order.slice(0, 2)).to.deep.equal(['folder', 'file']);
    });

    it('sync the name of a log again if its first sync failed', async () => {
      const prototype = await fileHandlePrototype();
      const { sync: syncFolder } = prototype;
      let done = 0;
      let failing = Number.POSITIVE_INFINITY;
      prototype.sync = function () {
        return ++done === failing ? Promise.reject(systemError('EIO')) : syncFolder.call(this);
      };
      try {
        await folder.open();
        done = 0;
        await append(await folder.logs.open(6), 1);
        failing = 2 * done;
        const log = await folder.logs.open(7);
        await expectCode(log.append(frameOf(1), 0, soonMs()), 'unavailable');
        expect(done).to.equal(failing);
        await append(log, 2);
        expect(done - failing, 'the log, and the folders that it is in').to.equal(3);
        expect(await labels(log)).to.deep.equal([2]);
      } finally {
        prototype.sync = syncFolder;
      }
    });

    it('answer unavailable until the disk works again', async () => {
      const log = await folder.open();
      await append(log, 1);
      const away = join(folder.path, 'away');
      await folder.logs.close();
      const again = await folder.open({ openFilesMax: 1 });
      await append(await folder.logs.open(6), 1);
      await rename(folder.logPath, away);
      await expectCode(again.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
      await rename(away, folder.logPath);
      await append(again, 3);
      expect(await labels(again)).to.deep.equal([1, 3]);
    });
  });

  describe('after a removal', () => {
    it('are gone, also if the folder in which logs are removed was missing', async () => {
      await append(await folder.open(), 1);
      await rm(join(folder.path, 'removed'), { recursive: true });
      await folder.logs.remove(COLLECTION);
      expect(await readdir(folder.path)).to.deep.equal(['removed']);
    });

    it('have their folder again at the next look', async () => {
      await folder.open();
      await rm(folder.path, { recursive: true });
      await folder.logs.look([]);
      expect(await readdir(folder.path)).to.deep.equal(['removed']);
    });

    it('leave nothing of the log', async () => {
      await append(await folder.open(), 1);
      await folder.logs.remove(COLLECTION);
      expect((await readdir(folder.path)).sort()).to.deep.equal(['removed']);
      expect(await readdir(join(folder.path, 'removed'))).to.deep.equal([]);
    });

    it('leave nothing of a log whose creation a crash cut short', async () => {
      await mkdir(join(folder.path, String(COLLECTION), 'log.new'), { recursive: true });
      await writeFile(join(folder.path, String(COLLECTION), 'log.new', 'x'), 'half a segment');
      expect(await labels(await folder.open())).to.deep.equal([]);
      await folder.logs.remove(COLLECTION);
      await folder.logs.remove(COLLECTION);
      expect(await readdir(folder.path)).to.deep.equal(['removed']);
    });

    it('fail for earlier openers of the log', async () => {
      const log = await folder.open();
      await append(log, 1);
      await folder.logs.remove(COLLECTION);
      await expectCode(log.head(), 'unavailable');
      await expectCode(log.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
      expect(await labels(await folder.logs.open(COLLECTION))).to.deep.equal([]);
    });

    it('finish a removal at the next start if a crash cut it short', async () => {
      await folder.write({}, 1);
      await rename(folder.logPath, join(folder.path, 'removed', '5.1'));
      expect(await labels(await folder.open())).to.deep.equal([]);
      expect(await readdir(join(folder.path, 'removed'))).to.deep.equal([]);
    });
  });

  it('delete unfinished files of a process that is gone', async () => {
    await folder.write({}, 1);
    await writeFile(join(folder.logPath, '.999999999-0-1.tmp'), 'half a segment');
    await mkdir(join(folder.path, '6', 'log.new'), { recursive: true });
    await writeFile(join(folder.path, '6', 'log.new', segmentName(0)), 'half a log');
    expect(await labels(await folder.open())).to.deep.equal([1]);
    expect(await readdir(folder.logPath)).to.deep.equal([segmentName(0)]);
    await append(await folder.logs.open(6), 1);
    await rejection(access(join(folder.path, '6', 'log.new')));
    expect(await labels(await folder.logs.open(6))).to.deep.equal([1]);
  });

  it('lose no answered frame to kill -9 at any moment', async () => {
    const random = seededRandom(testSeed());
    let answered: number[] = [];
    for (let round = 0; round < 8; round++) {
      answered = answered.concat(await appendUntilKilled(folder.path, answered.length, 20 + random.int(60)));
      const log = await folder.open({ segmentBytes: 20_000 });
      const found = await labels(log);
      expect(found.slice(0, answered.length), `round ${round}`).to.deep.equal(answered);
      expect(found.length - answered.length).to.be.within(0, 1);
      answered = found;
      await folder.logs.close();
    }
  });
});

/** Labels whose appends a process answered before it was killed during one more. */
async function appendUntilKilled(folder: string, first: number, answers: number): Promise<number[]> {
  const program = `
    import { LocalLogs } from ${JSON.stringify(new URL('../../../../shared/log/segments.js', import.meta.url).href)};
    const log = await (await LocalLogs.open({ folder: ${JSON.stringify(folder)}, segmentBytes: 20_000 })).open(${COLLECTION});
    let after = (await log.head())?.position ?? 0;
    for (let label = ${first}; ; label++) {
      after = await log.append(new Uint8Array(100 + (label * 37) % 3000).fill(label & 0xff), after, Infinity);
      process.stdout.write(label + '\\n');
    }`;
  const child: ChildProcess = guarded(
    spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const answered: number[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    answered.push(Number(line) & 0xff);
    if (answered.length === answers) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).to.equal('SIGKILL');
  return answered;
}
