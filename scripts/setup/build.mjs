/** Compiles what has changed since the last build, into `dist/`. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.mjs';
import {
  consoleSources,
  filesUnder,
  hashesOf,
  importClosure,
  PROGRAMS,
  SHARED_PARTS,
  typeScriptSources,
  WASM_MODULES,
  wasmSources,
} from './sources.mjs';
import { step } from './steps.mjs';

/** What steers the compiler, besides the sources. */
const SETTINGS = ['tsconfig.json', 'package-lock.json', join('scripts', 'setup', 'sources.mjs')];

export async function build(root) {
  const dist = join(root, 'dist');
  mkdirSync(dist, { recursive: true });
  await buildTypeScript(root, dist);
  await buildPrograms(root, dist);
  await buildWasm(root, dist);
  await buildConsole(root, dist);
}

async function buildTypeScript(root, dist) {
  const sources = typeScriptSources(root);
  const now = hashesOf(root, [...sources, ...SETTINGS]);
  const before = readBuilt(dist).typeScript ?? {};
  const changed = Object.keys({ ...now, ...before }).filter((path) => now[path] !== before[path]);
  // Somebody may have deleted outputs; the compiler's own record would not bring them back.
  const complete = sources.every((path) => now[path] !== before[path] || existsSync(join(dist, outputOf(path))));
  if (changed.length === 0 && complete) return;
  await step('build', 'compiling TypeScript', async () => {
    removeOrphans(dist, sources);
    if (!complete || needsFullBuild(root, sources, changed)) rmSync(join(dist, '.tsbuildinfo'), { force: true });
    const tspc = join(root, 'node_modules', 'ts-patch', 'bin', 'tspc.js');
    await run('tspc', [process.execPath, [tspc, '-p', 'tsconfig.json']], {
      cwd: root,
      advice: 'The sources do not compile; the lines above say where.',
    });
    // It has written where bundles were, and what they are made of.
    recordBuilt(dist, { typeScript: now, programs: undefined });
    if (changed.length >= sources.length) return `${sources.length} files compiled`;
    return `compiled, ${changed.length} file${changed.length === 1 ? ' has' : 's have'} changed`;
  });
}

/**
 * typia writes a validator from types that may stand in other files. The compiler's incremental build knows only direct
 * dependents and would leave such a validator as it was, so a change in anything a validator can see compiles all.
 */
function needsFullBuild(root, sources, changed) {
  if (changed.some((path) => SETTINGS.includes(path))) return true;
  const callers = sources.filter((path) => /from 'typia'/.test(readFileSync(join(root, path), 'utf8')));
  const seen = importClosure(root, callers);
  return changed.some((path) => seen.has(path));
}

const outputOf = (source) => source.replace(/\.ts$/, '.js');

const BUNDLED = new RegExp(`^(?:console|${SHARED_PARTS})/`);

/** Outputs whose source is gone would still be found, as tests for example. Bundles are made by their own steps. */
function removeOrphans(dist, sources) {
  const wanted = new Set(sources.map(outputOf));
  for (const path of filesUnder(dist, ['.'], '.js'))
    if (!wanted.has(path) && !BUNDLED.test(path))
      for (const suffix of ['', '.map']) rmSync(join(dist, path + suffix), { force: true });
}

async function buildPrograms(root, dist) {
  const now = hashesOf(root, [join('scripts', 'buildPrograms.mjs')]);
  const built = existsSync(join(dist, SHARED_PARTS));
  if (built && JSON.stringify(readBuilt(dist).programs) === JSON.stringify(now)) return;
  await step('programs', 'bundling', async () => {
    await run('esbuild', [process.execPath, [join(root, 'scripts', 'buildPrograms.mjs'), dist]], {
      cwd: root,
      advice: 'The programs cannot be bundled; the lines above say where.',
    });
    recordBuilt(dist, { programs: now });
    return `${PROGRAMS.length} bundled`;
  });
}

async function buildWasm(root, dist) {
  const now = hashesOf(root, [...wasmSources(root), 'package-lock.json']);
  const built = WASM_MODULES.every(({ output }) => existsSync(join(dist, output)));
  if (built && JSON.stringify(readBuilt(dist).wasm) === JSON.stringify(now)) return;
  await step('webassembly', 'compiling AssemblyScript', async () => {
    await run('asc', [process.execPath, [join(root, 'scripts', 'buildWasm.mjs'), dist]], {
      cwd: root,
      advice: 'The AssemblyScript does not compile; the lines above say where.',
    });
    recordBuilt(dist, { wasm: now });
    return `${WASM_MODULES.length} modules compiled`;
  });
}

async function buildConsole(root, dist) {
  const sources = consoleSources(root);
  const now = hashesOf(root, [...sources, 'package-lock.json']);
  const built = existsSync(join(dist, 'console', 'index.html'));
  if (built && JSON.stringify(readBuilt(dist).console) === JSON.stringify(now)) return;
  await step('console', 'bundling', async () => {
    await run('esbuild', [process.execPath, [join(root, 'scripts', 'buildConsole.mjs'), dist]], {
      cwd: root,
      advice: 'The console cannot be bundled; the lines above say where.',
    });
    recordBuilt(dist, { console: now });
    return 'bundled';
  });
}

const recordOf = (dist) => join(dist, '.built.json');

function readBuilt(dist) {
  try {
    return JSON.parse(readFileSync(recordOf(dist), 'utf8'));
  } catch {
    return {};
  }
}

function recordBuilt(dist, part) {
  const record = JSON.stringify({ ...readBuilt(dist), ...part });
  writeFileSync(`${recordOf(dist)}.new`, record);
  renameSync(`${recordOf(dist)}.new`, recordOf(dist));
}
