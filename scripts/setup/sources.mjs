/** The project's source files, its programs, and the imports of files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const FOLDERS = ['bench', 'client', 'config', 'coordinator', 'scripts', 'shard', 'shared', 'test', 'verifier'];

/** The files under the folders with this ending, relative to the root, sorted. */
export const filesUnder = (root, folders, ending) =>
  folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path)))
    .filter((path) => path.endsWith(ending))
    .sort();

/** Modules compiled to WebAssembly: the folder of the AssemblyScript, and the file below `dist/`. */
export const WASM_MODULES = [
  { folder: join('shard', 'kernel', 'assembly'), output: join('shard', 'kernel', 'kernel.wasm'), isShared: true },
  { folder: join('coordinator', 'body', 'assembly'), output: join('coordinator', 'body', 'vectorText.wasm') },
  { folder: join('shared', 'hashing', 'assembly'), output: join('shared', 'hashing', 'longHash.wasm') },
];
/** The WebAssembly of the package `blake3`, copied below `dist/`, since bundles lack the folders of packages. */
export const BLAKE3_WASM = join('shared', 'hashing', 'blake3.wasm');
const ASSEMBLY = WASM_MODULES.map(({ folder }) => folder);

export const wasmSources = (root) => filesUnder(root, ASSEMBLY, '.ts');

/** TypeScript sources, without the AssemblyScript. */
export const typeScriptSources = (root) =>
  filesUnder(root, FOLDERS, '.ts').filter(
    (path) => !ASSEMBLY.some((folder) => path.startsWith(folder)) && !path.endsWith('.d.ts'),
  );

/** The files for which typia writes validators, from types that these and their imports declare. */
export const validatorSources = (root, sources) =>
  sources.filter((path) => /from 'typia'/.test(readFileSync(join(root, path), 'utf8')));

/** The types of the API and the finder of near names, from which parts of the client package are made. */
export const contractSources = (root) => [
  ...filesUnder(root, [join('coordinator', 'contract')], '.ts'),
  join('config', 'nearest.ts'),
  join('shared', 'model', 'indexKinds.ts'),
  join('shared', 'model', 'textLanguage.ts'),
  join('shared', 'model', 'whole.ts'),
  join('shared', 'registry', 'keys.ts'),
];

/** The programs of processes and threads: each is a bundle. Only a test's thread imports them. */
export const PROGRAMS = [
  ...['shard/main', 'coordinator/main'],
  ...['start', 'standalone', 'cluster', 'keys', 'verify', 'witness', 'monitor'].map((name) => `scripts/${name}`),
  ...['export', 'import', 'load', 'mcp', 'demo', 'vouch'].map((name) => `scripts/${name}`),
  ...['asOf/asOfWorker', 'snapshot/readWorker', 'index/searchWorker'].map((name) => `shard/${name}`),
  ...['builds/buildWorker', 'hnsw/linkWorker'].map((name) => `shard/index/${name}`),
  'coordinator/body/bodyWorker',
];

/** The programs of threads. The simulation runs them as modules, which share their state with other modules of its process. */
export const THREADS = PROGRAMS.filter((program) => program.endsWith('Worker'));
export const MODULE_ENDING = '.module.js';

/** The folder below `dist/` of code that several programs share. */
export const SHARED_PARTS = 'programs';

/** The sources of the console's bundle: its own files, and the verifier. */
export const consoleSources = (root) =>
  ['.ts', '.tsx', '.css', '.html'].flatMap((ending) => filesUnder(root, ['console', 'verifier'], ending));

/** The given files and all their imports, direct and indirect. */
export function importClosure(root, paths) {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path) || !existsSync(join(root, path))) return;
    seen.add(path);
    for (const [, target] of readFileSync(join(root, path), 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g,
    ))
      visit(normalize(join(dirname(path), `${target}.ts`)));
  };
  for (const path of paths) visit(path);
  return [...seen].sort();
}
