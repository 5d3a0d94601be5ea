/**
 * Bundles the programs of processes and threads, each to its place below `dist/`: `node scripts/setup/builds/programs.mjs <dist>`.
 * A process then loads a few files instead of some eight hundred, which takes half as long.
 */
import { readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { recordPackages } from '../bundledPackages.mjs';
import { BLAKE3_WASM, PROGRAMS, SHARED_PARTS } from '../sources.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const dist = resolve(process.argv[2]);

/** Packages that load binaries, WebAssembly or programs of threads from beside their own files. */
const UNBUNDLED = ['@btc-vision/*', 'hyparquet-compressors', 'msgpackr-extract', 'uWebSockets.js'];

/** A module uses its own address to find neighbouring files: a thread's program, WebAssembly, settings. */
const OWN_ADDRESS = /\bimport\.meta\.url\b/g;
const DIST = 'dist-of-this-program:';

/** Reads sources as TypeScript, except those with typia's validators, which were compiled to `dist/`. */
const sources = {
  name: 'sources',
  setup({ onLoad }) {
    onLoad({ filter: /blake3_js\.js$/ }, ({ path }) => {
      const file = `require('node:url').fileURLToPath(new URL('${DIST}${BLAKE3_WASM}', bundleUrl))`;
      return { contents: readFileSync(path, 'utf8').replace(/require\('path'\)\.join\(.*?\)/, () => file) };
    });
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const name = relative(root, path);
      if (name.startsWith('node_modules')) return undefined;
      const text = readFileSync(path, 'utf8');
      const isCompiled = text.includes(`from 'typia'`);
      const output = name.replace(/\.ts$/, '.js');
      const contents = isCompiled ? readFileSync(join(dist, output), 'utf8') : text;
      const address = `new URL('${DIST}${output}', import.meta.url).href`;
      return { contents: contents.replace(OWN_ADDRESS, address), loader: isCompiled ? 'js' : 'ts' };
    });
  },
};

const { outputFiles, metafile } = await build({
  entryPoints: PROGRAMS.map((program) => ({ in: join(root, `${program}.ts`), out: program })),
  ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
  outdir: dist,
  chunkNames: `${SHARED_PARTS}/[hash]`,
  external: UNBUNDLED,
  // Packages in the bundle may call `require`.
  banner: {
    js: `import { createRequire as requireOf } from 'node:module';
const bundleUrl = import.meta.url;
const require = requireOf(bundleUrl);`,
  },
  plugins: [sources],
  ...{ write: false, metafile: true },
  logLevel: 'warning',
});

rmSync(join(dist, SHARED_PARTS), { recursive: true, force: true });
for (const { path, text } of outputFiles) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text.replaceAll(DIST, `${relative(dirname(path), dist)}/`));
}
recordPackages(dist, 'programs', metafile);
