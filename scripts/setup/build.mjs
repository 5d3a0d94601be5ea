/**
 * Builds the parts that have changed since the last build into `dist/`. TypeScript's own compiler, which is slow, compiles only the
 * files with typia's validators; esbuild compiles all others. Only `npm run check` checks types.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.mjs';
import {
  BLAKE3_WASM,
  consoleSources,
  contractSources,
  filesUnder,
  importClosure,
  MODULE_ENDING,
  PROGRAMS,
  SHARED_PARTS,
  THREADS,
  typeScriptSources,
  validatorSources,
  WASM_MODULES,
  wasmSources,
} from './sources.mjs';
import { step } from './steps.mjs';

const buildScript = (name) => join('scripts', 'setup', 'builds', `${name}.mjs`);

const output = (source) => source.replace(/\.ts$/, '.js');

/** The types of the client package, which other sources import. */
export const buildClientTypes = (root) =>
  part(root, 'client', {
    inputs: [...contractSources(root), buildScript('clientTypes')],
    outputs: [join('..', 'client', 'contract', 'fields.ts')],
    doing: 'making its types from those of the API',
    make: () => script(root, 'clientTypes', 'The types cannot be made; the lines above say where.'),
    done: () => 'its types are made',
  });

/** The programs, with everything that they load. */
export async function buildPrograms(root) {
  await buildClientTypes(root);
  const sources = typeScriptSources(root);
  await together([validators(root, sources), part(root, 'webassembly', wasm(root)), part(root, 'console', page(root))]);
  await part(root, 'programs', {
    inputs: [...sources.filter((path) => !/^(?:test|bench)\//.test(path)), buildScript('programs')],
    outputs: [...PROGRAMS.map((program) => `${program}.js`), SHARED_PARTS],
    doing: 'bundling',
    make: () => script(root, 'programs', 'The programs cannot be bundled; the lines above say where.'),
    done: () => `${PROGRAMS.length} bundled`,
  });
}

/** Every other source as a file of its own: tests, benches and tools. */
export async function buildAll(root) {
  await buildPrograms(root);
  const sources = typeScriptSources(root);
  const others = new Set([...validatorSources(root, sources), ...PROGRAMS.map((program) => `${program}.ts`)]);
  const modules = sources.filter((path) => !others.has(path));
  const threads = THREADS.map((program) => `${program}.ts`);
  await part(root, 'build', {
    inputs: [...modules, ...threads],
    outputs: [...modules.map(output), ...THREADS.map((program) => program + MODULE_ENDING)],
    doing: 'compiling TypeScript',
    make: async (changed, dist) => {
      removeOrphans(dist, sources);
      const { build } = await esbuild();
      const compile = (paths, options) =>
        build({
          entryPoints: paths.map((path) => join(root, path)),
          ...{ outbase: root, outdir: dist, sourcemap: true, logLevel: 'error', ...options },
        });
      await compile(changed.filter((path) => modules.includes(path)));
      await compile(threads, { outExtension: { '.js': MODULE_ENDING } });
    },
    done: (changed) => `${changed.length} file${changed.length === 1 ? '' : 's'} compiled`,
  });
}

function validators(root, sources) {
  const callers = validatorSources(root, sources);
  return part(root, 'validators', {
    inputs: [...importClosure(root, callers), buildScript('validators')],
    outputs: callers.map(output),
    doing: 'compiling with typia',
    make: () => script(root, 'validators', 'The validators do not compile; the lines above say where.', callers),
    done: () => `${callers.length} files compiled`,
  });
}

const wasm = (root) => ({
  inputs: [...wasmSources(root), buildScript('wasm')],
  outputs: [...WASM_MODULES.map((module) => module.output), BLAKE3_WASM],
  doing: 'compiling AssemblyScript',
  make: () => script(root, 'wasm', 'The AssemblyScript does not compile; the lines above say where.'),
  done: () => `${WASM_MODULES.length} modules compiled`,
});

const page = (root) => ({
  inputs: [...consoleSources(root), buildScript('console')],
  outputs: [join('console', 'index.html')],
  doing: 'bundling',
  make: () => script(root, 'console', 'The console cannot be bundled; the lines above say where.'),
  done: () => 'bundled',
});

const script = (root, name, advice, args = []) =>
  run(`The build of ${name}`, [process.execPath, [join(root, buildScript(name)), join(root, 'dist'), ...args]], {
    cwd: root,
    advice,
  });

/** Inputs of every part. */
const SETTINGS = ['tsconfig.json', 'package-lock.json', join('scripts', 'setup', 'sources.mjs')];

/** Makes a part if its inputs have changed or an output is missing. `make` gets the paths of the changed inputs. */
async function part(root, name, { inputs, outputs, doing, make, done }) {
  const dist = join(root, 'dist');
  const record = join(dist, `.built-${name}.json`);
  const now = Object.fromEntries([...SETTINGS, ...inputs].map((path) => [path, hashOf(join(root, path))]));
  const isWhole = outputs.every((path) => existsSync(join(dist, path)));
  const before = isWhole ? read(record) : {};
  const isSame = (path) => now[path] === before[path];
  const all = SETTINGS.every(isSame) ? Object.keys({ ...now, ...before }).filter((path) => !isSame(path)) : inputs;
  if (all.length === 0) return;
  await step(name, doing, async () => {
    mkdirSync(dist, { recursive: true });
    rmSync(record, { force: true });
    await make(all, dist);
    writeFileSync(`${record}.new`, JSON.stringify(now));
    renameSync(`${record}.new`, record);
    return done(all);
  });
}

let compiler;

/** The compiler, which runs in a process of its own until `stopEsbuild`. */
export const esbuild = () => {
  compiler ??= import('esbuild');
  return compiler;
};

export const stopEsbuild = async () => (await compiler)?.stop();

/** Waits for all; then throws the first failure. */
export async function together(works) {
  for (const { reason } of await Promise.allSettled(works)) if (reason !== undefined) throw reason;
}

const hashes = new Map();

function hashOf(path) {
  if (!hashes.has(path)) hashes.set(path, createHash('sha256').update(readFileSync(path)).digest('base64'));
  return hashes.get(path);
}

function read(record) {
  try {
    return JSON.parse(readFileSync(record, 'utf8'));
  } catch {
    return {};
  }
}

/** Removes outputs whose source is gone: old tests, for example, would still run. */
function removeOrphans(dist, sources) {
  const wanted = new Set([...sources.map(output), ...THREADS.map((program) => program + MODULE_ENDING)]);
  const bundles = new RegExp(`^(?:console|${SHARED_PARTS})/`);
  for (const path of filesUnder(dist, ['.'], '.js'))
    if (!wanted.has(path) && !bundles.test(path))
      for (const suffix of ['', '.map']) rmSync(join(dist, path + suffix), { force: true });
}
