/**
 * Compiles the AssemblyScript of `shard/kernel/assembly` to `<outDir>/shard/kernel/kernel.wasm`; `outDir` is the argument.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
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

/** @param {string} output path of the WebAssembly file */
async function buildKernel(output) {
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

await buildKernel(resolve(process.argv[2], 'shard', 'kernel', 'kernel.wasm'));
