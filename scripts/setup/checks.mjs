/** Checks of the sources: types, by TypeScript's native compiler; style and format, by Biome. */
import { join } from 'node:path';
import { run } from './command.mjs';
import { step } from './steps.mjs';

const PROJECTS = ['.', 'client', 'console'];

export const checkTypes = (root) =>
  step('types', 'checking', async () => {
    const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
    for (const project of PROJECTS)
      await run('tsc', [process.execPath, [tsc, '-p', project, '--noEmit']], {
        cwd: root,
        advice: 'The types are wrong; the lines above say where.',
      });
    return 'all types are right';
  });

export const lint = (root) =>
  step('lint', 'checking', async () => {
    await biome(root, 'ci', 'The lines above say what; npm run format mends most of it.');
    return 'style and format are right';
  });

export const format = (root) =>
  step('format', 'formatting', async () => {
    await biome(root, 'check', 'The lines above say what is left to be mended by hand.', '--write');
    return 'formatted';
  });

const biome = (root, command, advice, ...options) =>
  run('biome', [join(root, 'node_modules', '.bin', 'biome'), [command, '--colors=off', ...options, '.']], {
    cwd: root,
    advice,
  });
