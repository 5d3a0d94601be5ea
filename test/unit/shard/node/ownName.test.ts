import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { takeOwnName } from '../../../../shard/node/ownName.js';
import { systemEntropy } from '../../../../shared/clock.js';

describe('the generated name of a shard', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-name-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const taken = (): Promise<string> => takeOwnName(folder, systemEntropy);

  /** Rewrites the lock as if its process had ended. */
  async function end(name: string): Promise<void> {
    const lock = join(folder, 'names', name);
    const holder = JSON.parse(await readFile(lock, 'utf8'));
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }));
    await writeFile(lock, JSON.stringify({ ...holder, pid: gone, started: null }));
  }

  it('fits a subject, and differs between machines and between running processes of a data folder', async () => {
    const names = [
      await taken(),
      await taken(),
      await takeOwnName(await mkdtemp(join(folder, 'other-')), systemEntropy),
    ];
    for (const name of names) expect(name).to.match(/^[\w-]{8,64}$/);
    expect(new Set(names).size).to.equal(3);
  });

  it('is reused after its process has ended, and not while it runs', async () => {
    const [first, second] = [await taken(), await taken()];
    await end(first);
    expect(await taken()).to.equal(first);
    await end(second);
    expect(await taken()).to.equal(second);
    expect((await readdir(join(folder, 'names'))).sort()).to.deep.equal([first, second].sort());
  });
});
