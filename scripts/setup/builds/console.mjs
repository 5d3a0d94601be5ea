/** Bundles the console into `dist/console/`: `node scripts/setup/builds/console.mjs <dist>`. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { recordPackages } from '../bundledPackages.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const entries = ['console/entry.ts', 'console/map/mapWorker.ts'];
const target = join(process.argv[2], 'console');

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const { metafile } = await build({
  entryPoints: entries.map((path) => join(root, path)),
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  outdir: target,
  // A name changes with its content, so that a browser may cache files for ever. Workers are loaded by name.
  ...{ entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]' },
  metafile: true,
  logLevel: 'warning',
});
const outputs = Object.entries(metafile.outputs);
const nameOf = (entry, ending) =>
  basename(outputs.find(([path, { entryPoint }]) => path.endsWith(ending) && (entryPoint?.endsWith(entry) ?? true))[0]);
// The styles are inlined into the page, which is painted as soon as it arrives.
const css = readFileSync(join(target, nameOf('entry.ts', '.css')), 'utf8').trim();
for (const [path] of outputs) if (path.endsWith('.css')) rmSync(path);
const page = readFileSync(join(root, 'console', 'index.html'), 'utf8')
  .replace('entry.js', nameOf('entry.ts', '.js'))
  .replace('<link rel="stylesheet" href="main.css" />', () => `<style>${css}</style>`)
  .replace('mapWorker.js', nameOf('mapWorker.ts', '.js'));
writeFileSync(join(target, 'index.html'), page);
recordPackages(process.argv[2], 'console', metafile);
