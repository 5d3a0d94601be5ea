/**
 * The bill of materials: the packages of production from npm's list, each with its binaries. Parts outside of packages are the
 * modules compiled to WebAssembly, the NATS server and Node.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { NatsBinary } from '../local/natsServer/binary.js';
import { runProgram } from '../local/natsServer/program.js';

interface Hash {
  readonly alg: string;
  readonly content: string;
}

export type Licence =
  | { readonly license: { readonly id?: string; readonly name?: string } }
  | { readonly expression: string };

/** A part in the form of CycloneDX. */
export interface Component {
  readonly 'bom-ref'?: string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly description?: string;
  readonly hashes?: readonly Hash[];
  readonly licenses?: readonly Licence[];
  readonly externalReferences?: readonly { readonly type: string; readonly url: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly components?: readonly Component[];
}

export interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const PACKAGES = 'node_modules/';
/** Compiled modules by the folder of their sources. */
const WASM = {
  'shard/kernel/assembly': 'dist/shard/kernel/kernel.wasm',
  'coordinator/body/assembly': 'dist/coordinator/body/vectorText.wasm',
  'shared/hashing/assembly': 'dist/shared/hashing/longHash.wasm',
};
const BINARY = /\.(?:node|wasm)$/;
/** Folder of node-gyp's intermediate files. */
const INTERMEDIATE = /\/obj\.target\//;
const NPM_MS = 120_000;
/** npm's mark of a development dependency, whose code may be in a bundle. */
const DEVELOPMENT = 'cdx:npm:package:development';
const BUNDLES = ['programs', 'console'];

/** `root`: an installed and built checkout. */
export async function billOfMaterials(root: string, nats: NatsBinary): Promise<Bill> {
  const folders = await packageFolders(root);
  const bundled = await bundledPackages(root);
  const isPart = ({ 'bom-ref': ref, properties }: Component): boolean =>
    !properties?.some(({ name }) => name === DEVELOPMENT) || bundled.has(folders.get(ref!)!);
  const installed = await listPackages(root);
  const listed = { ...installed, components: installed.components.filter(isPart) };
  const parts = new Set([listed.metadata.component, ...listed.components].map((component) => component['bom-ref']));
  const packages = await Promise.all(
    listed.components.map(withUrls).map(async (component) => {
      const folder = folders.get(component['bom-ref'] ?? '');
      const binaries = folder === undefined ? [] : await binariesIn(join(root, folder));
      return binaries.length === 0 ? component : { ...component, components: binaries };
    }),
  );
  const others = [...(await compiled(root)), await natsServer(nats), node()];
  const own = listed.metadata.component;
  const refs = others.map((component) => component['bom-ref']!);
  return {
    ...listed,
    // Replaces the name, for which npm uses the folder of the checkout.
    metadata: { ...listed.metadata, component: { ...own, type: 'application', name: 'vouch' } },
    components: [...packages, ...others],
    dependencies: [
      ...listed.dependencies
        .filter(({ ref }) => parts.has(ref))
        .map(({ ref, dependsOn }) => ({
          ref,
          dependsOn: [...dependsOn.filter((other) => parts.has(other)), ...(ref === own['bom-ref'] ? refs : [])],
        })),
      ...refs.map((ref) => ({ ref, dependsOn: [] })),
    ],
  };
}

/** The folders of the packages whose code is in the bundles. */
async function bundledPackages(root: string): Promise<ReadonlySet<string>> {
  const read = (bundle: string): Promise<string> => readFile(join(root, 'dist', `.packages-${bundle}.json`), 'utf8');
  return new Set((await Promise.all(BUNDLES.map(read))).flatMap((text) => JSON.parse(text) as string[]));
}

/** The packages installed beside the bundles. npm reads the lock file and `node_modules`, and asks no registry. */
async function listPackages(root: string): Promise<Bill> {
  const args = ['sbom', '--workspaces=false', '--sbom-format=cyclonedx', '--loglevel=error'];
  const cli = process.env.npm_execpath;
  const options = { cwd: root, timeoutMs: NPM_MS };
  const output = cli?.endsWith('.js')
    ? await runProgram(process.execPath, [cli, ...args], options)
    : await runProgram('npm', args, options);
  return JSON.parse(output) as Bill;
}

/** Removes references that are not URLs, which CycloneDX refuses: some packages have git's `git@host:path`. */
const withUrls = ({ externalReferences = [], properties: _, ...component }: Component): Component => ({
  ...component,
  externalReferences: externalReferences.map(({ type, url }) => ({
    type,
    url: url.replace(/^(\w+@[\w.-]+):/, 'ssh://$1/'),
  })),
});

/** The folder of each package by `name@version`, npm's reference to it. */
async function packageFolders(root: string): Promise<ReadonlyMap<string, string>> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly name?: string; readonly version: string }>>;
  };
  return new Map(
    Object.entries(lock.packages).map(([folder, { name, version }]) => {
      const installedAs = folder.slice(folder.lastIndexOf(PACKAGES) + PACKAGES.length);
      return [`${name ?? installedAs}@${version}`, folder];
    }),
  );
}

/** The machine code and WebAssembly of one package, without those of packages within it. */
async function binariesIn(folder: string): Promise<Component[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile() && BINARY.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !INTERMEDIATE.test(path) && !relative(folder, path).includes(PACKAGES));
  return Promise.all(
    paths.sort().map(async (path) => ({ type: 'file', name: relative(folder, path), hashes: [await sha256(path)] })),
  );
}

const compiled = (root: string): Promise<Component[]> =>
  Promise.all(
    Object.entries(WASM).map(async ([sources, name]) => ({
      'bom-ref': name,
      type: 'file',
      name,
      description: `compiled from ${sources} by assemblyscript`,
      hashes: [await sha256(join(root, name))],
      licenses: [{ license: { id: 'Apache-2.0' } }],
    })),
  );

const natsServer = async ({ path, version }: NatsBinary): Promise<Component> => ({
  'bom-ref': `nats-server@${version}`,
  type: 'application',
  name: 'nats-server',
  version,
  purl: `pkg:golang/github.com/nats-io/nats-server/v2@v${version}`,
  hashes: [await sha256(path)],
  licenses: [{ license: { id: 'Apache-2.0' } }],
});

const node = (): Component => ({
  'bom-ref': `node@${process.versions.node}`,
  type: 'platform',
  name: 'node',
  version: process.versions.node,
  purl: `pkg:generic/node@${process.versions.node}`,
  licenses: [{ license: { id: 'MIT' } }],
});

async function sha256(path: string): Promise<Hash> {
  const content = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  return { alg: 'SHA-256', content };
}
