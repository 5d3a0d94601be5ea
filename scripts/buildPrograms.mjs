/**
 * Bundles what a process or a thread begins with, each in its place below `dist/`: `node scripts/buildPrograms.mjs <dist>`.
 * A process loads a few files instead of some eight hundred, which takes half as long.
 */
import { readFileSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { PROGRAMS, SHARED_PARTS } from './setup/sources.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = resolve(process.argv[2]);

/** They load binaries, WebAssembly or programs of threads from beside their own files. */
const UNBUNDLED = ['@btc-vision/*', 'blake3', 'hyparquet-compressors', 'msgpackr-extract', 'uWebSockets.js'];

/** A module asks by its own address for what lies beside it: a thread's program, WebAssembly, settings. */
const OWN_ADDRESS = /\bimport\.meta\.url\b/g;
const DIST = 'dist-of-this-program:';

/**
 * Programs are read as TypeScript, since their compiled files are where the bundles go; all that they import is read as it was
 * compiled, with typia's validators.
 */
const compiledImports = {
  name: 'compiled imports',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\./ }, ({ importer, path }) => {
      const from = dirname(importer);
      return importer.endsWith('.ts') ? { path: join(dist, relative(root, from), path) } : undefined;
    });
    onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      if (relative(root, path).startsWith('node_modules')) return undefined;
      const text = readFileSync(path, 'utf8');
      if (path.endsWith('.ts') && text.includes(`'typia'`))
        throw new Error(`${path} is a program: typia does not see it`);
      const address = `new URL('${DIST}${relative(dist, path)}', import.meta.url).href`;
      return {
        contents: path.endsWith('.ts') ? text : text.replace(OWN_ADDRESS, address),
        loader: path.endsWith('.ts') ? 'ts' : 'js',
      };
    });
  },
};

const { outputFiles } = await build({
  entryPoints: PROGRAMS.map((program) => ({ in: join(root, `${program}.ts`), out: program })),
  ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20' },
  outdir: dist,
  chunkNames: `${SHARED_PARTS}/[hash]`,
  external: UNBUNDLED,
  // For packages that call it.
  banner: {
    js: `import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);`,
  },
  plugins: [compiledImports],
  write: false,
  logLevel: 'warning',
});

rmSync(join(dist, SHARED_PARTS), { recursive: true, force: true });
for (const { path, text } of outputFiles) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text.replaceAll(DIST, `${relative(dirname(path), dist)}/`));
}
