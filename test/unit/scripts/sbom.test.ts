// Covers: scripts/sbom/bill.ts, scripts/sbom/licences.ts, scripts/setup/bundledPackages.mjs
/**
 * The bill of materials of `npm run sbom`: its entries, and that its hashes equal those of the files and of the lock
 * file.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Bill, billOfMaterials, type Component } from '../../../scripts/sbom/bill.js';
import { licenceLines, licenceOf } from '../../../scripts/sbom/licences.js';
import { ROOT } from '../../support/sourceTree.js';

const readJson = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

const WASM = [
  'dist/shard/kernel/kernel.wasm',
  'dist/coordinator/body/vectorText.wasm',
  'dist/shared/hashing/longHash.wasm',
];

const HELD = ['@noble/hashes', 'blake3', 'msgpackr', 'nats', 'nkeys.js', 'pino', 'preact', 'uWebSockets.js', 'uplot'];
const TOOLS = ['assemblyscript', 'esbuild', 'mocha', 'ts-patch', 'typescript', 'uri-js'];

describe('the bill of materials', () => {
  let folder: string;
  let nats: string;
  let bill: Bill;
  const named = (name: string): Component => bill.components.find((component) => component.name === name)!;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    nats = join(folder, 'nats-server');
    await writeFile(nats, 'a server');
    bill = await billOfMaterials(ROOT, { path: nats, version: '2.9.10' });
  });

  after(() => rm(folder, { recursive: true }));

  it('lists every package of the service with the hash of the lock file, and no build tool', () => {
    expect([bill.bomFormat, bill.metadata.component.name]).to.deep.equal(['CycloneDX', 'vouch']);
    const { packages } = readJson('package-lock.json');
    for (const name of HELD) {
      const { version, integrity } = packages[`node_modules/${name}`];
      const [algorithm, hash] = integrity.split(/-(.*)/s);
      expect(algorithm).to.equal('sha512');
      const { version: listed, hashes } = named(name);
      expect([listed, hashes]).to.deep.equal([
        version,
        [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
      ]);
    }
    expect(TOOLS.filter((name) => named(name))).to.deep.equal([]);
  });

  it('lists each binary of packages, of the build and of NATS with its SHA-256', () => {
    const inPackages = (name: string): string[] => (named(name).components ?? []).map((file) => file.name);
    expect(inPackages('blake3')).to.include('dist/wasm/nodejs/blake3_js_bg.wasm');
    for (const { name, components = [] } of bill.components)
      for (const file of components)
        expect(file.hashes, file.name).to.deep.equal([
          { alg: 'SHA-256', content: sha256(join(ROOT, 'node_modules', name, file.name)) },
        ]);
    const hashOf = (name: string) => named(name).hashes?.[0]?.content;
    for (const wasm of WASM) expect(hashOf(wasm)).to.equal(sha256(join(ROOT, wasm)));
    expect(hashOf('nats-server')).to.equal(sha256(nats));
    expect(named('nats-server').version).to.equal('2.9.10');
  });

  it('gives a URL as the origin of each part', () => {
    const addresses = bill.components.flatMap(({ externalReferences = [] }) =>
      externalReferences.map(({ url }) => url),
    );
    expect(addresses.length).to.be.above(20);
    expect(addresses.filter((url) => !URL.canParse(url))).to.deep.equal([]);
  });

  it("gives the licence of each part, and the service's dependencies", () => {
    expect(bill.components.filter((component) => licenceOf(component) === 'none stated')).to.deep.equal([]);
    const lines = licenceLines(bill);
    expect(lines.find((line) => line.startsWith('BlueOak'))).to.match(/^BlueOak-1\.0\.0 +1 +lru-cache$/);
    const own = bill.dependencies.find(({ ref }) => ref === bill.metadata.component['bom-ref']);
    expect(own?.dependsOn).to.include.members(['nats-server@2.9.10', ...WASM]);
  });
});
