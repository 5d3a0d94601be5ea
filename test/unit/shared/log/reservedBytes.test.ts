// Covers: shared/log/segmentedLog.ts, shared/log/segmentScan.ts, shared/model/logId.ts
/** The zeros behind the last frame of an access log, in which its next frames are written. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { encodeReach, REACH_OFFSET, segmentName } from '../../../../shared/log/segmentFormat.js';
import { accessLogId } from '../../../../shared/model/logId.js';
import {
  append,
  COLLECTION,
  frameOf,
  HEADER_BYTES,
  labels,
  SegmentFolder,
  soonMs,
} from '../../../support/rigs/segmentFolder.js';

const ACCESS_LOG = accessLogId(COLLECTION);
const FRAME_BYTES = 116;

describe('the reserved bytes of an access log', () => {
  let folder: SegmentFolder;
  beforeEach(async () => {
    folder = await SegmentFolder.make();
  });
  afterEach(() => folder.remove());

  const pathOf = (base: number): string => join(folder.path, String(COLLECTION), 'access', segmentName(base));
  const bytesIn = async (base: number): Promise<number> => (await stat(pathOf(base))).size;

  it('are there for many frames, and are cut at the next opening', async () => {
    const logs = await folder.openLogs();
    await append(await logs.open(ACCESS_LOG), 1);
    const reserved = await bytesIn(0);
    expect(reserved).to.be.above(4_096);
    await append(await logs.open(ACCESS_LOG), 2, 3, 4, 5);
    expect(await bytesIn(0), 'after more frames').to.equal(reserved);
    await logs.close();
    const log = await (await folder.openLogs()).open(ACCESS_LOG);
    expect(await labels(log)).to.deep.equal([1, 2, 3, 4, 5]);
    expect(await bytesIn(0), 'when it is opened').to.equal(HEADER_BYTES + 5 * FRAME_BYTES);
    await append(log, 6);
    expect(await labels(log)).to.deep.equal([1, 2, 3, 4, 5, 6]);
    expect(await readdir(join(folder.path, String(COLLECTION), 'access'))).to.deep.equal([segmentName(0)]);
  });

  it('are not in the log of the collection', async () => {
    await folder.write({}, 1, 2);
    expect((await stat(folder.segmentPath())).size).to.equal(HEADER_BYTES + 2 * FRAME_BYTES);
  });

  it('are written again where a frame goes beyond them', async () => {
    const log = await (await folder.openLogs()).open(ACCESS_LOG);
    let position = 0;
    for (let label = 1; label <= 60; label++) position = await log.append(frameOf(label, 9_000), position, soonMs());
    expect(await bytesIn(0)).to.be.within(60 * 9_000, 60 * 9_000 + 2 ** 18);
    expect(await labels(log)).to.deep.equal(Array.from({ length: 60 }, (_, i) => i + 1));
  });

  it('leave a torn frame among them to be set aside', async () => {
    const logs = await folder.openLogs();
    await append(await logs.open(ACCESS_LOG), 1, 2);
    await logs.close();
    const bytes = await readFile(pathOf(0));
    const [first, second] = [HEADER_BYTES + FRAME_BYTES, HEADER_BYTES + 2 * FRAME_BYTES];
    bytes.fill(0, second - 10, second);
    bytes.set(encodeReach({ head: HEADER_BYTES, end: first, next: 0 }), REACH_OFFSET);
    await writeFile(pathOf(0), bytes);
    const log = await (await folder.openLogs()).open(ACCESS_LOG);
    expect(await labels(log)).to.deep.equal([1]);
    expect(await readFile(`${pathOf(0)}.torn-1`)).to.deep.equal(bytes.subarray(first));
  });

  it('are cut before a segment follows', async () => {
    const logs = await folder.openLogs({ segmentBytes: 300 });
    await append(await logs.open(ACCESS_LOG), 1, 2, 3, 4, 5);
    expect([await bytesIn(0), await bytesIn(296)]).to.deep.equal([296, 296]);
    await logs.close();
    expect(await labels(await (await folder.openLogs()).open(ACCESS_LOG))).to.deep.equal([1, 2, 3, 4, 5]);
  });
});
