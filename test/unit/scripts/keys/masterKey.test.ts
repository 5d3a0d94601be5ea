// Covers: scripts/keys/commands.ts, shard/vault/masterKeyFile.ts
/** `npm run keys -- master`: a master key for shards on several machines. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { readMasterKeyFile } from '../../../../shard/vault/masterKeyFile.js';
import { launchNode } from '../../../support/launch/process.js';

const KEYS = fileURLToPath(new URL('../../../../scripts/keys.js', import.meta.url));

describe('the command keys master', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-test-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
    const command = launchNode(KEYS, ['master', ...args], { cwd: folder, env: { INIT_CWD: folder } });
    const { code } = await command.waitForEnd();
    return { code, output: command.output };
  }

  it('makes the key once, readable by its owner only, and never prints it', async () => {
    const { code, output } = await run('--out', 'master.key');
    expect(code, output).to.equal(0);
    const file = join(folder, 'master.key');
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const [key] = (await readMasterKeyFile(file))!;
    expect(output).to.include(key!.id).and.not.include(Buffer.from(key!.bytes).toString('hex'));
    const again = await run('--out', 'master.key');
    expect([again.code, again.output]).to.deep.equal([
      1,
      `✘ keys          ${file} exists already; a master key is never replaced`,
    ]);
    expect((await readMasterKeyFile(file))![0]!.id).to.equal(key!.id);
  });

  it('fails without --out and writes nothing', async () => {
    const { code, output } = await run();
    expect(code).to.equal(2);
    expect(output).to.include('master takes --out, the file of the new key');
    expect(existsSync(join(folder, 'data'))).to.equal(false);
  });
});
