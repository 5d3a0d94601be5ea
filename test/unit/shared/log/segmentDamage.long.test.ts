// Covers: shared/log/segments.ts, shared/log/segmentScan.ts, shared/log/segmentReader.ts
/** Damage to the files of a local log: it is found, named, and left unchanged. */
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { segmentName } from '../../../../shared/log/segmentFormat.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { append, flip, labels, SegmentFolder } from '../../../support/rigs/segmentFolder.js';

describe('the check of local segments', () => {
  let folder: SegmentFolder;
  beforeEach(async () => {
    folder = await SegmentFolder.make();
  });
  afterEach(() => folder.remove());

  it('finds damage at any byte of an answered frame, names it, and leaves the file unchanged', async () => {
    const random = seededRandom(testSeed());
    await folder.write({ segmentBytes: 300 }, 1, 2, 3, 4, 5);
    const names = (await readdir(folder.logPath)).sort();
    for (const path of names.map((name) => join(folder.logPath, name))) {
      const whole = await readFile(path);
      for (let at = 0; at < whole.length; at++)
        for (const damaged of [flip(Buffer.from(whole), at, random.int(8)), whole.subarray(0, at)]) {
          await writeFile(path, damaged);
          const message = await folder.expectDamage({ segmentBytes: 300 });
          expect(message, `byte ${at}`).to.match(
            /^the log of collection 5 is damaged: segment \d{16}\.seg, byte \d+: /,
          );
          expect(await readFile(path)).to.deep.equal(damaged);
        }
      await writeFile(path, whole);
    }
    expect((await readdir(folder.logPath)).sort()).to.deep.equal(names);
    expect(await labels(await folder.open({ segmentBytes: 300 }))).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it('names the segment and byte of the frame', async () => {
    await folder.write({}, 1, 2, 3);
    await folder.edit(0, (bytes) => void flip(bytes, 200));
    expect(await folder.expectDamage()).to.contain(
      `${segmentName(0)}, byte 180: the checksum of a frame does not verify`,
    );
  });

  it('reports a file that ends before an answered frame', async () => {
    await folder.write({}, 1, 2);
    await folder.edit(0, (bytes) => bytes.subarray(0, 295));
    expect(await folder.expectDamage()).to.contain(
      'byte 295: the file ends here, but frames up to byte 296 were answered',
    );
    await folder.edit(0, (bytes) => bytes.subarray(0, 20));
    expect(await folder.expectDamage()).to.contain('byte 20: the header is cut short');
  });

  it('reports a frame behind the reach that does not verify although the next one does', async () => {
    await folder.write({}, 1, 2, 3, 4);
    await folder.setReach(0, { head: 180, end: 296, next: 0 });
    await folder.edit(0, (bytes) => flip(bytes, 350));
    expect(await folder.expectDamage()).to.contain('byte 296: a frame does not verify, but the one behind it does');
  });

  it('reports a missing segment', async () => {
    await folder.write({ segmentBytes: 150 }, 1, 2, 3);
    for (const base of [0, 180]) {
      await rename(folder.segmentPath(base), join(folder.path, 'elsewhere'));
      expect(await folder.expectDamage()).to.match(/it begins at (180|360), but what is before it ends at (0|180)$/);
      await rename(join(folder.path, 'elsewhere'), folder.segmentPath(base));
    }
    for (const [base, before] of [
      [360, 180],
      [180, 0],
    ] as const) {
      await rm(folder.segmentPath(base));
      const place = `segment ${segmentName(before)}, byte 180: `;
      expect(await folder.expectDamage()).to.contain(`${place}${segmentName(base)} follows it, and is missing`);
    }
    await rm(folder.segmentPath(0));
    expect(await folder.expectDamage()).to.contain('its folder holds no segment');
  });

  it('reports a segment marked as the last, followed by one with frames', async () => {
    await folder.write({ segmentBytes: 150 }, 1, 2, 3);
    for (const base of [0, 180]) {
      await folder.setReach(base, { head: 64, end: 180, next: 0 });
      const place = `segment ${segmentName(base)}, byte 48: `;
      expect(await folder.expectDamage()).to.contain(`${place}no segment follows it, but one with frames does`);
      await folder.setReach(base, { head: 64, end: 180, next: 181 });
      expect(await folder.expectDamage()).to.contain(`${place}it is not followed where it ends`);
      await folder.setReach(base, { head: 64, end: 180, next: base + 180 });
    }
    expect(await labels(await folder.open())).to.deep.equal([1, 2, 3]);
  });

  it('reports a segment of another collection, or of another base', async () => {
    await folder.write({ segmentBytes: 150 }, 1, 2);
    const others = await LocalLogs.open({ folder: folder.path, segmentBytes: 150 });
    await append(await others.open(6), 1, 2);
    await others.close();
    const other = join(folder.path, '6', 'log', segmentName(180));
    const own = await readFile(folder.segmentPath(180));
    await writeFile(folder.segmentPath(180), await readFile(other));
    expect(await folder.expectDamage()).to.contain('byte 8: it belongs to collection 6');
    await writeFile(folder.segmentPath(180), await readFile(folder.segmentPath(0)));
    expect(await folder.expectDamage()).to.contain('byte 16: it is the segment of base 0');
    await writeFile(folder.segmentPath(180), own);
    expect(await labels(await folder.open())).to.deep.equal([1, 2]);
  });

  it('reports an unknown version by its number', async () => {
    await folder.write({}, 1);
    await folder.edit(0, (bytes) => void bytes.writeUInt32LE(7, 4));
    expect(await folder.expectDamage()).to.contain('segment version 7 is not known here; this program reads version 2');
  });

  it('leaves other logs readable if it finds one damaged', async () => {
    await folder.write({}, 1);
    await append(await folder.open(), 2);
    await append(await folder.logs.open(6), 1);
    await folder.logs.close();
    await folder.edit(0, (bytes) => void flip(bytes, 100));
    await folder.expectDamage();
    await folder.open();
    expect(await labels(await folder.logs.open(6))).to.deep.equal([1]);
  });
});
