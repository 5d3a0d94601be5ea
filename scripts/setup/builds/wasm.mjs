/**
 * Compiles the AssemblyScript of the project to WebAssembly, each module to its place under `<outDir>`, which is the argument.
 * Copies the WebAssembly of the package `blake3` there. Memory comes from the host; the modules have no runtime, and export only
 * their own functions.
 */
import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';
import { BLAKE3_WASM, WASM_MODULES } from '../sources.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FLAGS = [
  '--enable',
  'simd',
  '--enable',
  'bulk-memory',
  '--importMemory',
  '--runtime',
  'stub',
  '-O3',
  '--noAssert',
];
/** Shared memory up to 4 GiB. */
const SHARED = ['--enable', 'threads', '--sharedMemory', '--maximumMemory', '65536'];

async function build({ folder, output, isShared }, outDir) {
  const path = join(outDir, output);
  const [wasm, text] = [basename(path), 'module.wat'];
  const written = new Map();
  const { error, stderr } = await asc.main(
    [
      ...[join(folder, 'index.ts'), '--baseDir', ROOT, '--outFile', wasm, '--textFile', text],
      ...FLAGS,
      ...(isShared ? SHARED : []),
    ],
    { writeFile: (name, content) => void written.set(name, content) },
  );
  const said = stderr.toString();
  if (said) process.stderr.write(said);
  if (error) throw error;
  // Static data would be in the memory that the host uses.
  if (/^\s*\(data\b/m.test(written.get(text))) throw new Error(`${folder} must not have static data`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, written.get(wasm));
  renameSync(`${path}.new`, path);
}

const dist = resolve(process.argv[2]);
for (const module of WASM_MODULES) await build(module, dist);
mkdirSync(dirname(join(dist, BLAKE3_WASM)), { recursive: true });
copyFileSync(
  join(ROOT, 'node_modules', 'blake3', 'dist', 'wasm', 'nodejs', 'blake3_js_bg.wasm'),
  join(dist, BLAKE3_WASM),
);
