/** The data folder: closed to other users at start, with a log line about what was open. */
import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { closeDataFolder } from '../../../../shared/files/dataFolder.js';
import { rejection } from '../../../support/expectations.js';
import { skip } from '../../../support/skip.js';

describe('the data folder', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o7777;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-folder-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is closed with the folders in it if it was open, and the log line names its mode', async () => {
    await mkdir(at('logs'));
    await chmod(at('logs'), 0o755);
    await chmod(folder, 0o2775);
    expect(await closeDataFolder(folder)).to.equal(
      `the data folder ${folder} was open to other users of this machine (mode 02775); it is closed now (mode 0700)`,
    );
    expect(await modeOf(folder)).to.equal(0o2700);
    expect(await modeOf(at('logs'))).to.equal(0o700);
    expect(await closeDataFolder(folder)).to.equal(undefined);
  });

  it('if closed itself gets its open folders closed, but not key files and targets of links', async () => {
    await mkdir(at('logs'));
    await chmod(at('logs'), 0o750);
    const elsewhere = await mkdtemp(join(tmpdir(), 'vouch-elsewhere-'));
    await chmod(elsewhere, 0o755);
    await symlink(elsewhere, at('names'));
    await writeFile(at('signing.key'), 'x');
    await chmod(at('signing.key'), 0o644);
    expect(await closeDataFolder(folder)).to.equal(
      `the data folder ${folder} had folders that were open to other users (logs 0750); they are closed now (mode 0700)`,
    );
    expect(await modeOf(at('logs'))).to.equal(0o700);
    expect(await modeOf(at('signing.key'))).to.equal(0o644);
    expect(await modeOf(elsewhere)).to.equal(0o755);
    await rm(elsewhere, { recursive: true });
  });

  it('stays open with its other folders if it holds something else', async () => {
    for (const name of ['photos', 'logs']) {
      await mkdir(at(name));
      await chmod(at(name), 0o755);
    }
    await chmod(folder, 0o755);
    expect(await closeDataFolder(folder)).to.equal(
      `the data folder ${folder} stays open to other users of this machine (mode 0755), because it holds other files (photos); set VOUCH_DATA_DIR to a folder of its own`,
    );
    expect(await modeOf(folder)).to.equal(0o755);
    expect(await modeOf(at('photos'))).to.equal(0o755);
    expect(await modeOf(at('logs'))).to.equal(0o700);
  });

  it('is refused, and stays as it is, if all users share it', async () => {
    await chmod(folder, 0o1777);
    expect((await rejection(closeDataFolder(folder))).message).to.equal(
      `the data folder ${folder} is shared by all users of this machine (mode 01777); set VOUCH_DATA_DIR to a folder of its own`,
    );
    expect(await modeOf(folder)).to.equal(0o1777);
  });

  it('stays open to the root group if it belongs to another user, and its folders are closed', async function () {
    if (process.getuid?.() !== 0) skip(this, 'only root gives a folder to another user');
    await mkdir(at('logs'));
    await chmod(at('logs'), 0o750);
    await chown(folder, 54_321, 0);
    await chmod(folder, 0o770);
    expect(await closeDataFolder(folder)).to.equal(
      `the data folder ${folder} had folders that were open to other users (logs 0750); they are closed now (mode 0700)`,
    );
    expect(await modeOf(folder)).to.equal(0o770);
    expect(await closeDataFolder(folder)).to.equal(undefined);
  });

  it('is closed if it belongs to another user and is open to more than the root group', async function () {
    if (process.getuid?.() !== 0) skip(this, 'only root gives a folder to another user');
    for (const [group, mode] of [
      [54_321, 0o770],
      [0, 0o775],
    ] as const) {
      await chown(folder, 54_321, group);
      await chmod(folder, mode);
      expect(await closeDataFolder(folder)).to.include('it is closed now (mode 0700)');
      expect(await modeOf(folder)).to.equal(0o700);
    }
  });
});
