/** What a local log makes of the files it finds: after a crash, after damage, after a disk that failed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { DurableFile } from '../../shared/durable.js';
import { hash } from '../../shared/hash.js';
import { type EventLog, LOG_START, LogDamaged } from '../../shared/log/eventLog.js';
import { encodeSegmentHeader, encodeWatermark, segmentName, WATERMARK_OFFSET } from '../../shared/log/segmentFormat.js';
import { LocalLogs, type LocalLogsOptions } from '../../shared/log/segments.js';
import { seededRandom, testSeed } from '../support/random.js';
import { expectCode, rejection } from '../support/suites/expectations.js';

const COLLECTION = 5;
const HEADER_BYTES = 56;
const soonMs = (): number => systemClock.nowMs() + 20_000;
const frameOf = (label: number, sizeBytes = 100): Uint8Array => new Uint8Array(sizeBytes).fill(label & 0xff);

function flip(bytes: Buffer, at: number, bit = 0): Buffer {
  bytes[at]! ^= 1 << bit;
  return bytes;
}

async function labels(log: EventLog): Promise<number[]> {
  const found: number[] = [];
  for await (const { bytes } of log.read(LOG_START)) found.push(bytes[0]!);
  return found;
}

async function append(log: EventLog, ...frameLabels: number[]): Promise<void> {
  for (const label of frameLabels)
    await log.append(frameOf(label), (await log.head())?.position ?? LOG_START, soonMs());
}

describe('local segments', function () {
  this.timeout(60_000);
  let folder: string;
  let logs: LocalLogs;

  const logFolder = (): string => join(folder, String(COLLECTION), 'log');
  const segmentPath = (base = 0): string => join(logFolder(), segmentName(base));
  const open = async (options: Partial<LocalLogsOptions> = {}): Promise<EventLog> => {
    logs = await LocalLogs.open({ folder, ...options });
    return logs.open(COLLECTION);
  };
  /** Leaves files as a process that is gone would. */
  const write = async (options: Partial<LocalLogsOptions>, ...frameLabels: number[]): Promise<void> => {
    await append(await open(options), ...frameLabels);
    await logs.close();
  };
  const edit = async (path: string, change: (bytes: Buffer) => Uint8Array | undefined): Promise<void> => {
    const bytes = await readFile(path);
    await writeFile(path, change(bytes) ?? bytes);
  };
  const expectDamage = async (options: Partial<LocalLogsOptions> = {}): Promise<string> => {
    const error = await rejection(open(options).then(labels));
    expect(error, error.stack).to.be.instanceOf(LogDamaged);
    await logs.close();
    return error.message;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-segments-'));
  });
  afterEach(async () => {
    await logs.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe('layout', () => {
    it('is the one that is written down', async () => {
      await write({}, 1, 2);
      const bytes = await readFile(segmentPath());
      const checksum = (part: Buffer): string => Buffer.from(hash(part)).toString('hex', 0, 8);
      expect(basename(segmentPath())).to.equal('0000000000000000.seg');
      expect(bytes.length).to.equal(HEADER_BYTES + 2 * 116);
      expect(bytes.toString('latin1', 0, 4)).to.equal('VSEG');
      expect([bytes.readUInt32LE(4), bytes.readBigUInt64LE(8), bytes.readBigUInt64LE(16)]).to.deep.equal([1, 5n, 0n]);
      expect(bytes.toString('hex', 24, 32)).to.equal(checksum(bytes.subarray(0, 24)));
      expect([bytes.readBigUInt64LE(32), bytes.readBigUInt64LE(40)]).to.deep.equal([172n, 288n]);
      expect(bytes.toString('hex', 48, 56)).to.equal(checksum(bytes.subarray(32, 48)));
      expect(bytes.readUInt32LE(172)).to.equal(100);
      expect(bytes.toString('hex', 180, 188)).to.equal(checksum(bytes.subarray(188, 288)));
      expect(bytes.subarray(188)).to.deep.equal(Buffer.alloc(100, 2));
    });

    it('makes no file for a log that was never written', async () => {
      const log = await open();
      expect(await log.head()).to.equal(undefined);
      expect(await readdir(folder)).to.deep.equal(['removed']);
    });

    it('begins a new segment when one is full, and reads across them', async () => {
      await write({ segmentBytes: 300 }, 1, 2, 3, 4, 5);
      expect((await readdir(logFolder())).sort()).to.deep.equal([0, 288, 576].map(segmentName));
      const log = await open({ segmentBytes: 300 });
      expect(await labels(log)).to.deep.equal([1, 2, 3, 4, 5]);
      expect((await log.head())!.position).to.equal(576 + HEADER_BYTES);
    });

    it('goes on after a crash between making a segment and its first frame', async () => {
      await write({}, 1, 2);
      await writeFile(segmentPath(288), encodeSegmentHeader({ collectionId: COLLECTION, base: 288 }));
      const log = await open();
      expect((await log.head())!.bytes[0]).to.equal(2);
      await append(log, 3);
      expect(await labels(log)).to.deep.equal([1, 2, 3]);
    });

    it('keeps a bounded number of files open over any number of logs', async function () {
      if (process.platform !== 'linux') return this.skip();
      await open({ openFilesMax: 4 });
      for (let id = 100; id < 130; id++) await append(await logs.open(id), 1, 2);
      const isOurs = async (fd: string): Promise<boolean> =>
        (await readlink(`/proc/self/fd/${fd}`).catch(() => '')).startsWith(folder);
      const ours = await Promise.all((await readdir('/proc/self/fd')).map(isOurs));
      expect(ours.filter((yes) => yes)).to.have.length.within(1, 4);
      for (let id = 100; id < 130; id++) expect(await labels(await logs.open(id))).to.deep.equal([1, 2]);
    });
  });

  describe('torn tail', () => {
    it('is cut wherever the crash came, and set aside', async () => {
      await write({}, 1, 2, 3);
      const whole = await readFile(segmentPath());
      const mark = encodeWatermark({ head: 172, end: 288 });
      for (let length = 288; length <= whole.length; length += length < 310 ? 1 : 9) {
        const crashed = Buffer.from(whole.subarray(0, length));
        crashed.set(mark, WATERMARK_OFFSET);
        await writeFile(segmentPath(), crashed);
        const log = await open();
        const survived = length === whole.length ? [1, 2, 3] : [1, 2];
        expect(await labels(log), `cut at ${length}`).to.deep.equal(survived);
        await append(log, 9);
        expect(await labels(log)).to.deep.equal([...survived, 9]);
        const torn = (await readdir(logFolder())).filter((name) => name.includes('torn'));
        expect(torn).to.deep.equal(survived.length === 2 && length > 288 ? [`${segmentName(0)}.torn-1`] : []);
        for (const name of torn) {
          expect(await readFile(join(logFolder(), name))).to.deep.equal(whole.subarray(288, length));
          await rm(join(logFolder(), name));
        }
        await logs.close();
      }
    });

    it('is numbered, so that none is lost', async () => {
      await write({}, 1);
      for (const rubbish of ['one', 'two', 'three']) {
        await edit(segmentPath(), (bytes) => Buffer.concat([bytes, Buffer.from(rubbish)]));
        expect(await labels(await open())).to.deep.equal([1]);
        await logs.close();
      }
      expect((await readdir(logFolder())).sort()).to.deep.equal(
        ['', '.torn-1', '.torn-2', '.torn-3'].map((suffix) => segmentName(0) + suffix),
      );
      expect(await readFile(`${segmentPath()}.torn-3`, 'utf8')).to.equal('three');
    });

    it('may be zeros that the file system left', async () => {
      await write({}, 1, 2);
      await edit(segmentPath(), (bytes) => Buffer.concat([bytes, Buffer.alloc(5_000)]));
      expect(await labels(await open())).to.deep.equal([1, 2]);
    });

    it('keeps whole frames that a power failure left behind the watermark', async () => {
      await write({}, 1, 2, 3, 4);
      await edit(segmentPath(), (bytes) => void bytes.set(encodeWatermark({ head: 172, end: 288 }), WATERMARK_OFFSET));
      const log = await open();
      expect(await labels(log)).to.deep.equal([1, 2, 3, 4]);
      expect((await log.head())!.bytes[0]).to.equal(4);
    });
  });

  describe('damage', () => {
    it('of any byte that was answered for is found, named, and left as it is', async () => {
      const random = seededRandom(testSeed());
      await write({ segmentBytes: 300 }, 1, 2, 3, 4, 5);
      const names = (await readdir(logFolder())).sort();
      for (let i = 0; i < 150; i++) {
        const path = join(logFolder(), random.pick(names));
        const whole = await readFile(path);
        const at = i < HEADER_BYTES ? i : random.int(whole.length);
        const damaged = Buffer.from(whole);
        flip(damaged, at, random.int(8));
        await writeFile(path, damaged);
        const message = await expectDamage({ segmentBytes: 300 });
        expect(message, `byte ${at}`).to.match(/^the log of collection 5 is damaged: segment \d{16}\.seg, byte \d+: /);
        expect(await readFile(path)).to.deep.equal(damaged);
        await writeFile(path, whole);
      }
      expect((await readdir(logFolder())).sort()).to.deep.equal(names);
      expect(await labels(await open({ segmentBytes: 300 }))).to.deep.equal([1, 2, 3, 4, 5]);
    });

    it('names the frame', async () => {
      await write({}, 1, 2, 3);
      await edit(segmentPath(), (bytes) => void flip(bytes, 200));
      expect(await expectDamage()).to.contain(`${segmentName(0)}, byte 172: the checksum of a frame does not verify`);
    });

    it('is a file that ends before what was answered', async () => {
      await write({}, 1, 2);
      await edit(segmentPath(), (bytes) => bytes.subarray(0, 287));
      expect(await expectDamage()).to.contain('byte 287: the file ends here, but frames up to byte 288 were answered');
      await edit(segmentPath(), (bytes) => bytes.subarray(0, 20));
      expect(await expectDamage()).to.contain('byte 20: the header is cut short');
    });

    it('is a frame behind the watermark that does not verify when the next one does', async () => {
      await write({}, 1, 2, 3, 4);
      await edit(segmentPath(), (bytes) => {
        bytes.set(encodeWatermark({ head: 172, end: 288 }), WATERMARK_OFFSET);
        return flip(bytes, 350);
      });
      expect(await expectDamage()).to.contain('byte 288: a frame does not verify, but the one behind it does');
    });

    it('is a segment that is missing', async () => {
      await write({ segmentBytes: 150 }, 1, 2, 3);
      for (const base of [0, 172]) {
        await rename(segmentPath(base), join(folder, 'elsewhere'));
        expect(await expectDamage()).to.match(/it begins at (172|344), but what is before it ends at (0|172)$/);
        await rename(join(folder, 'elsewhere'), segmentPath(base));
      }
      for (const base of [0, 172, 344]) await rm(segmentPath(base));
      expect(await expectDamage()).to.contain('its folder holds no segment');
    });

    it('is a segment of another collection, or of another place', async () => {
      await write({ segmentBytes: 150 }, 1, 2);
      const others = await LocalLogs.open({ folder, segmentBytes: 150 });
      await append(await others.open(6), 1, 2);
      await others.close();
      const other = join(folder, '6', 'log', segmentName(172));
      const own = await readFile(segmentPath(172));
      await writeFile(segmentPath(172), await readFile(other));
      expect(await expectDamage()).to.contain('byte 8: it belongs to collection 6');
      await writeFile(segmentPath(172), await readFile(segmentPath(0)));
      expect(await expectDamage()).to.contain('byte 16: it is the segment of base 0');
      await writeFile(segmentPath(172), own);
      expect(await labels(await open())).to.deep.equal([1, 2]);
    });

    it('is a version that is not known, by name', async () => {
      await write({}, 1);
      await edit(segmentPath(), (bytes) => void bytes.writeUInt32LE(7, 4));
      expect(await expectDamage()).to.contain('segment version 7 is not known here; this program reads version 1');
    });

    it('of one log leaves the others alone', async () => {
      await write({}, 1);
      await append(await open(), 2);
      await append(await logs.open(6), 1);
      await logs.close();
      await edit(segmentPath(), (bytes) => void flip(bytes, 100));
      await expectDamage();
      await open();
      expect(await labels(await logs.open(6))).to.deep.equal([1]);
    });
  });

  describe('a disk that fails', () => {
    const { sync, writeNow } = DurableFile.prototype;
    const systemError = (code: string): Error => Object.assign(new Error(code), { code });
    afterEach(() => Object.assign(DurableFile.prototype, { sync, writeNow }));

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
      it(`${when} leaves the outcome to the next read`, async () => {
        const log = await open();
        await append(log, 1, 2);
        const { position } = (await log.head())!;
        fail();
        await expectCode(log.append(frameOf(3), position, soonMs()), 'unavailable');
        expect(await labels(log)).to.deep.equal([1, 2]);
        expect((await readFile(segmentPath())).length).to.equal(288);
        await log.append(frameOf(4), position, soonMs());
        expect(await labels(log)).to.deep.equal([1, 2, 4]);
      });
    }

    it('when a segment is begun is survived too', async () => {
      const log = await open({ segmentBytes: 150 });
      await append(log, 1);
      failures['in the sync']!();
      await expectCode(log.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
      await append(log, 3);
      expect(await labels(log)).to.deep.equal([1, 3]);
    });

    it('answers unavailable until it works again', async () => {
      const log = await open();
      await append(log, 1);
      const away = join(folder, 'away');
      await logs.close();
      const again = await open({ openFilesMax: 1 });
      await append(await logs.open(6), 1);
      await rename(logFolder(), away);
      await expectCode(again.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
      await rename(away, logFolder());
      await append(again, 3);
      expect(await labels(again)).to.deep.equal([1, 3]);
    });
  });

  describe('removal', () => {
    it('leaves nothing of the log', async () => {
      await append(await open(), 1);
      await logs.remove(COLLECTION);
      expect((await readdir(folder)).sort()).to.deep.equal(['removed']);
      expect(await readdir(join(folder, 'removed'))).to.deep.equal([]);
    });

    it('ends the openers of the log', async () => {
      const log = await open();
      await append(log, 1);
      await logs.remove(COLLECTION);
      await expectCode(log.head(), 'unavailable');
      await expectCode(log.append(frameOf(2), HEADER_BYTES, soonMs()), 'unavailable');
      expect(await labels(await logs.open(COLLECTION))).to.deep.equal([]);
    });

    it('that a crash cut short is finished at the next start', async () => {
      await write({}, 1);
      await rename(logFolder(), join(folder, 'removed', '5.1'));
      expect(await labels(await open())).to.deep.equal([]);
      expect(await readdir(join(folder, 'removed'))).to.deep.equal([]);
    });
  });

  it('forgets what a process that is gone was in the middle of writing', async () => {
    await write({}, 1);
    await writeFile(join(logFolder(), '.999999999-0-1.tmp'), 'half a segment');
    await mkdir(join(folder, '6', 'log.new'), { recursive: true });
    await writeFile(join(folder, '6', 'log.new', segmentName(0)), 'half a log');
    expect(await labels(await open())).to.deep.equal([1]);
    expect(await readdir(logFolder())).to.deep.equal([segmentName(0)]);
    await append(await logs.open(6), 1);
    await rejection(access(join(folder, '6', 'log.new')));
    expect(await labels(await logs.open(6))).to.deep.equal([1]);
  });

  it('loses no answered frame to kill -9, wherever it comes', async () => {
    const random = seededRandom(testSeed());
    let answered: number[] = [];
    for (let round = 0; round < 8; round++) {
      answered = answered.concat(await appendUntilKilled(folder, answered.length, 20 + random.int(60)));
      const log = await open({ segmentBytes: 20_000 });
      const found = await labels(log);
      expect(found.slice(0, answered.length), `round ${round}`).to.deep.equal(answered);
      expect(found.length - answered.length).to.be.within(0, 1);
      answered = found;
      await logs.close();
    }
  });
});

/** The labels whose appends a process answered before it was killed, in the middle of one more. */
async function appendUntilKilled(folder: string, first: number, answers: number): Promise<number[]> {
  const program = `
    import { LocalLogs } from ${JSON.stringify(new URL('../../shared/log/segments.js', import.meta.url).href)};
    const log = await (await LocalLogs.open({ folder: ${JSON.stringify(folder)}, segmentBytes: 20_000 })).open(${COLLECTION});
    let after = (await log.head())?.position ?? 0;
    for (let label = ${first}; ; label++) {
      after = await log.append(new Uint8Array(100 + (label * 37) % 3000).fill(label & 0xff), after, Infinity);
      process.stdout.write(label + '\\n');
    }`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answered: number[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    answered.push(Number(line) & 0xff);
    if (answered.length === answers) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).to.equal('SIGKILL');
  return answered;
}
