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

  async function taken(dataDir = folder): Promise<string> {
    const { name, keep } = await takeOwnName(dataDir, systemEntropy);
    await keep();
    return name;
  }

  /** Rewrites the lock as if its process had ended. */
  async function end(name: string): Promise<void> {
    const lock = join(folder, 'names', name);
    const holder = JSON.parse(await readFile(lock, 'utf8'));
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }));
    await writeFile(lock, JSON.stringify({ ...holder, pid: gone, started: null }));
  }

  it('fits a subject, and differs between machines and between running processes of a data folder', async () => {
    const names = [await taken(), await taken(), await taken(await mkdtemp(join(folder, 'other-')))];
    for (const name of names) expect(name).to.match(/^[\w-]{8,64}$/);
    expect(new Set(names).size).to.equal(3);
  });

  it('leaves nothing in the data folder until it is kept', async () => {
    const { name, keep } = await takeOwnName(join(folder, 'data'), systemEntropy);
    expect(await readdir(folder)).to.deep.equal([]);
    await keep();
    expect(await readdir(join(folder, 'data', 'names'))).to.deep.equal([name]);
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
