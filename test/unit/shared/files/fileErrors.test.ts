// Covers: shared/files/fileErrors.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DurableFile, replaceFile, StreamedFile } from '../../../../shared/files/durable.js';
import { fileMessage } from '../../../../shared/files/fileErrors.js';

/** A device on which every write fails for want of space. */
const FULL = '/dev/full';

describe('an error of a file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-errors-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const messageOf = async (work: Promise<unknown>): Promise<string | undefined> =>
    fileMessage(await work.catch((error: unknown) => error));

  it('names the file of a failed write, for which the system gives no name', async () => {
    const file = await DurableFile.open(FULL);
    try {
      const writes = [() => file.write(Buffer.from('a'), 0), async () => file.writeNow(Buffer.from('a'), 0)];
      for (const write of writes)
        expect(await messageOf(write())).to.equal(
          'no space is left for /dev/full: make room, then run the command again',
        );
    } finally {
      await file.close();
    }
  });

  it('names the file, not the temporary one beside it', async () => {
    const missing = join(folder, 'missing', 'a');
    for (const work of [replaceFile(missing, 'a'), StreamedFile.begin(missing)])
      expect(await messageOf(work)).to.equal(`${missing} does not exist, or its folder does not`);
    const below = join(folder, 'file', 'a');
    await writeFile(join(folder, 'file'), '');
    expect(await messageOf(replaceFile(below, 'a'))).to.equal(
      `a part of the path ${below} is a file: name a folder there`,
    );
    expect(await messageOf(replaceFile(folder, 'a'))).to.equal(`${folder} is a folder: name a file`);
  });

  it('has no message here if it is not about a file', () => {
    expect(fileMessage(new Error('a'))).to.equal(undefined);
    expect(fileMessage(Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' }))).to.equal(
      undefined,
    );
  });
});
