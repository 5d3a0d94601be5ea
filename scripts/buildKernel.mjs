/**
 * Compiles the AssemblyScript of `shard/kernel/assembly` to `<outDir>/shard/kernel/kernel.wasm`; `outDir` is the
 * argument, `dist` where there is none. Does nothing when the output is newer than every source.
 */
import { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const ASSEMBLY = join('shard', 'kernel', 'assembly');

/** Shared memory up to 4 GiB comes from the host; no runtime, no exports but the kernel's own. */
const FLAGS = [
  ...['--enable', 'simd', '--enable', 'threads', '--enable', 'bulk-memory'],
  ...['--importMemory', '--sharedMemory', '--maximumMemory', '65536', '--noExportMemory'],
  ...['--runtime', 'stub', '-O3', '--noAssert'],
];

const modifiedMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

const sources = () => [
  ...readdirSync(join(ROOT, ASSEMBLY)).map((name) => join(ROOT, ASSEMBLY, name)),
  fileURLToPath(import.meta.url),
  join(ROOT, 'package-lock.json'),
];

/** @param {string} output path of the WebAssembly file */
async function buildKernel(output) {
  if (modifiedMs(output) > Math.max(...sources().map(modifiedMs))) return;
  const written = new Map();
  const { error, stderr } = await asc.main(
    [join(ASSEMBLY, 'index.ts'), '--baseDir', ROOT, '--outFile', 'kernel.wasm', '--textFile', 'kernel.wat', ...FLAGS],
    { writeFile: (name, content) => void written.set(name, content) },
  );
  const said = stderr.toString();
  if (said) process.stderr.write(said);
  if (error) throw error;
  // Data would lie where the host puts vectors.
  if (/^\s*\(data\b/m.test(written.get('kernel.wat'))) throw new Error('the kernel must hold no static data');
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(`${output}.new`, written.get('kernel.wasm'));
  renameSync(`${output}.new`, output);
}

await buildKernel(resolve(process.argv[2] ?? 'dist', 'shard', 'kernel', 'kernel.wasm'));
