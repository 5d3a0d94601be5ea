/** Other versions of Node than the one that runs the tests, with the same build and packages. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Client } from '../support/launch/client.js';
import { freePort } from '../support/launch/freePort.js';
import { launch } from '../support/launch/process.js';
import { installFromRegistry } from '../support/launch/registry.js';
import { drawnOneIn } from '../support/model/random.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const STANDALONE = fileURLToPath(new URL('../../scripts/standalone.js', import.meta.url));
/** The version with the longest support, and the newest. */
const OTHERS = [24, 26];
const CONTRACT_FOLDER = fileURLToPath(new URL('../contract', import.meta.url));
/** The contract tests without the long ones. */
const CONTRACT = readdirSync(CONTRACT_FOLDER).filter((file) => /^\w+\.test\.js$/.test(file));
const MODE = ['--grep', '\\(standalone\\)'];

const SAME = `the tests run on Node ${process.versions.node} already`;
const missing = (major: number): string => `npm reaches no registry, or has no Node ${major} for this machine`;

describe('other versions of Node', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-node-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Path of a Node of this version, which npm installs once; undefined if npm lacks it or reaches no registry. */
  const nodeOf = async (major: number): Promise<string | undefined> => {
    const name = `node-${process.platform}-${process.arch}`;
    const own = join(folder, String(major));
    const path = join(own, 'node_modules', name, 'bin', 'node');
    if (existsSync(path)) return path;
    mkdirSync(own, { recursive: true });
    return (await installFromRegistry(own, `${name}@${major}`, ['--ignore-scripts'])) ? path : undefined;
  };

  it('Node 24 passes a random eighth of the contract test files', async function () {
    this.timeout(1_500_000);
    if (process.versions.node.startsWith('24.')) skip(this, SAME);
    const node = await nodeOf(24);
    if (node === undefined) skip(this, missing(24));
    const mocha = join(ROOT, 'node_modules', 'mocha', 'bin', 'mocha.js');
    const drawn = drawnOneIn(8, CONTRACT).map((file) => join(CONTRACT_FOLDER, file));
    const tests = launch(node, [mocha, '--reporter', 'dot', ...drawn, ...MODE], { cwd: ROOT });
    const { code } = await tests.waitForEnd(1_400_000);
    expect(code, tests.output).to.equal(0);
    expect(tests.output).to.match(/\d{2} passing/);
  });

  for (const major of OTHERS)
    it(`Node ${major} serves an insert and a search`, async function () {
      if (process.versions.node.startsWith(`${major}.`)) skip(this, SAME);
      const node = await nodeOf(major);
      if (node === undefined) skip(this, missing(major));
      const port = await freePort();
      const env = { VOUCH_DATA_DIR: join(folder, `data${major}`), VOUCH_PORT: String(port), INIT_CWD: undefined };
      const service = launch(node, [STANDALONE], { cwd: folder, env });
      await service.waitForLine(/^ +stop +Ctrl-C/);
      const key = /vk_[0-9a-f]{64}/.exec(service.output)?.[0];
      const client = new Client(`http://127.0.0.1:${port}`, key);
      await client.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
      const insert = await client.post('/v1/records', { collection: 'c', values: [1, 2], text: 'x' });
      expect([insert.status, insert.body.id], service.output).to.deep.equal([200, 1]);
      const found = await client.post('/v1/search', { collection: 'c', query: [1, 2], k: 1 });
      expect(found.body.results.map(({ id }: { id: number }) => id)).to.deep.equal([1]);
      expect(await service.stop()).to.deep.equal({ code: 0, signal: null });
    });
});
