/**
 * Runs mocha over the compiled tests: all of them, the fast ones, or those that the arguments name, by source or by output.
 * Whole suites are run in groups at the same time, since most of them wait for other processes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Clusters and NATS servers that come and go; services that stay, and what is done to them or read of them; and what computes in its own process. */
const ALL = [
  ['dist/test/{cluster,nats,console}/**/*.test.js'],
  ['dist/test/{attack,contract,interop}/**/*.test.js', 'dist/test/faults/!(damage*).test.js'],
  ['dist/test/*.test.js', 'dist/test/{unit,fuzz,deploy,simulate}/**/*.test.js', 'dist/test/faults/damage*.test.js'],
];

/** The API in one mode; and the units, without those that take seconds. */
export const FAST = [
  ['dist/test/contract/**/!(*.long).test.js', '--invert', '--grep', '\\(cluster\\)'],
  ['dist/test/*.test.js', 'dist/test/unit/**/!(*.long).test.js'],
];

/** `test/unit/shared/fixedPoint.test.ts` → `dist/test/unit/shared/fixedPoint.test.js`; anything else stays as it is. */
const compiled = (argument) =>
  /^(?:\.\/)?test\//.test(argument) ? `dist/${argument.replace(/^\.\//, '').replace(/\.ts$/, '.js')}` : argument;

const namesFiles = (argument) => argument.startsWith('dist/');

/**
 * @param {string} root
 * @param {readonly string[]} args for mocha
 * @param {readonly (readonly string[])[]} groups the arguments of each group, where `args` name no files
 * @returns {Promise<void>} when mocha has ended; its exit code becomes ours
 */
export async function runTests(root, args, groups = ALL) {
  const given = args.map(compiled);
  const [first, ...others] = given.some(namesFiles) ? [[]] : groups;
  const mocha = join(root, 'node_modules', 'mocha', 'bin', '_mocha');
  const start = (files, stdio) =>
    spawn(process.execPath, ['--enable-source-maps', mocha, ...given, ...files], { cwd: root, stdio });
  const children = [start(first, 'inherit'), ...others.map((files) => start(files, ['inherit', 'pipe', 'inherit']))];
  const ended = children.map((child) => once(child, 'exit'));
  // Ctrl-C reaches mocha from the terminal; a signal to us alone is passed on.
  const forward = (signal) => {
    for (const child of children) child.kill(signal);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward);
  // What the others print is shown behind what the first has printed: until then it is kept in memory.
  const held = children.slice(1).map((child) => holdOutput(child.stdout));
  const codes = [];
  for (const [at, end] of ended.entries()) {
    if (at > 0) await held[at - 1].show();
    const [code] = await end;
    codes.push(code ?? 1);
  }
  process.off('SIGINT', forward).off('SIGTERM', forward);
  process.exitCode = Math.max(...codes);
}

/** Keeps what comes until it may be shown; `show` resolves when all of it is. */
function holdOutput(stream) {
  const chunks = [];
  const hold = (chunk) => chunks.push(chunk);
  stream.on('data', hold);
  const over = once(stream, 'close');
  return {
    async show() {
      stream.off('data', hold);
      for (const chunk of chunks) process.stdout.write(chunk);
      stream.on('data', (chunk) => process.stdout.write(chunk));
      await over;
    },
  };
}
