// Covers: client/package.json, client/index.ts, client/node.ts, scripts/setup/builds/client.mjs
/** The client package as published: packed, installed into an empty project, compiled and run there. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageOfClient } from '../../support/launch/clientPackage.js';
import { skip } from '../../support/skip.js';
import { ROOT } from '../../support/sourceTree.js';

const exec = promisify(execFile);
const USE = `
import { CapacityExceededError, memoryStore, type SearchHit, verifyReceipt, Vouch } from '@vouch/client';
import { fileStore } from '@vouch/client/node';

const vouch = new Vouch({ url: 'http://127.0.0.1:1', retries: 0 });
const docs = vouch.collection('docs');
export async function use(signal: AbortSignal): Promise<SearchHit[]> {
  const { id, receipt } = await docs.insert({ values: Float32Array.of(1, 2), metadata: { a: 1 } }, { signal });
  verifyReceipt(receipt, { record: { values: [1, 2], metadata: { a: 1 } } });
  for await (const { eventType } of docs.timeline()) console.log(eventType === 'insert' ? id : 0);
  await vouch.pinnedCheckpoints(fileStore('seen.json')).check('docs');
  const { results } = await docs.search({ query: [1, 2], k: 3, with: ['text'], groupBy: 'a' });
  return results;
}
// @ts-expect-error a field that the API lacks
docs.search({ query: [1], k: 1, metadatafilter: {} }).catch((error: unknown) => error instanceof CapacityExceededError);
vouch.pinnedCheckpoints(memoryStore());
`;

describe('the client package', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-package-'));
    const made = await packageOfClient(join(folder, 'made'));
    await mkdir(join(folder, 'use'));
    await writeFile(join(folder, 'package.json'), '{"name":"empty","type":"module"}');
    await writeFile(join(folder, 'use', 'index.ts'), USE);
    const install = ['install', '--offline', '--no-audit', '--no-fund', '--omit=peer', made.tarball];
    await exec('npm', install, { cwd: folder });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('has no dependencies and contains types, its licence and the licences of bundled code', () => {
    const installed = join(folder, 'node_modules', '@vouch', 'client');
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).to.deep.equal(['@vouch']);
    const { version, dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(dependencies).to.equal(undefined);
    expect(version).to.equal(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
    for (const name of ['LICENSE', 'README.md', 'index.js', 'langchain.js', 'llamaindex.js', 'types/client/index.d.ts'])
      expect(existsSync(join(installed, name)), name).to.equal(true);
    expect(readdirSync(join(installed, 'licences'))).to.have.length(2);
  });

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])
    it(`compiles under strict with moduleResolution ${moduleResolution}`, async () => {
      const options = {
        module,
        moduleResolution,
        strict: true,
        target: 'es2022',
        lib: ['es2023', 'dom'],
        outDir: 'out',
        types: [],
      };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['use'] }));
      await exec(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], {
        cwd: folder,
      }).catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
    });

  it('can be imported where it is installed', async () => {
    const script =
      "import('@vouch/client').then(({ Vouch }) => new Vouch({ url: 'http://x' }).collection('c').name).then(console.log)";
    const { stdout } = await exec(process.execPath, ['-e', script], { cwd: folder });
    expect(stdout).to.equal('c\n');
  });

  it('can be required by CommonJS where Node allows it', async function () {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    if (major < 20 || (major === 20 && minor < 19) || (major === 22 && minor < 12))
      return skip(this, `Node ${process.versions.node} cannot require an ES module`);
    const script = "console.log(new (require('@vouch/client').Vouch)({ url: 'http://x' }).collection('c').name)";
    const { stdout } = await exec(process.execPath, ['--input-type=commonjs', '-e', script], { cwd: folder });
    expect(stdout).to.equal('c\n');
  });
});
