/**
 * `npm run client [-- FOLDER]` makes the package of the client, and its tarball, in `dist-client`, or in a new folder. It bundles
 * the verifier with its packages, so that the client has no dependencies.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { run } from '../command.mjs';
import { step } from '../steps.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const [, , , folder] = process.argv;
const target = resolve(folder ?? join(root, 'dist-client'));
/** Packages that are bundled, with their licences. */
const BUNDLED = ['@noble/curves', '@noble/hashes'];
const json = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

await step('client', 'making the package', async () => {
  if (folder === undefined) rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, 'licences'), { recursive: true });
  const { exports, ...named } = json('client/package.json');
  await build({
    entryPoints: Object.values(exports).map((entry) => join(root, 'client', entry.default.replace(/\.js$/, '.ts'))),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    external: [...Object.keys(named.peerDependencies), 'node:*'],
    outdir: target,
    chunkNames: 'shared-[hash]',
    logLevel: 'warning',
  });
  const tspc = join(root, 'node_modules', 'ts-patch', 'bin', 'tspc.js');
  await run('tspc', [process.execPath, [tspc, '-p', 'client', '--outDir', join(target, 'types')]], {
    cwd: root,
    advice: 'The client does not compile.',
  });
  const { version } = json('package.json');
  writeFileSync(join(target, 'package.json'), `${JSON.stringify({ ...named, version, exports }, null, 2)}\n`);
  cpSync(join(root, 'client', 'README.md'), join(target, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
  for (const name of BUNDLED)
    cpSync(join(root, 'node_modules', name, 'LICENSE'), join(target, 'licences', `${name.replace('/', '-')}.txt`));
  await run('npm', ['npm', ['pack', '--silent', '--pack-destination', target, target]], {
    cwd: target,
    advice: 'The package cannot be packed; the lines above say why.',
  });
  const tarball = readdirSync(target).find((name) => name.endsWith('.tgz'));
  return `packed into ${relative(root, join(target, tarball))}`;
});
