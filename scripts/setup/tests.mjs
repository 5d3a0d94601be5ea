/** Runs mocha over the compiled tests: all of them, or those that the arguments name, by source or by output. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ALL = 'dist/test/**/*.test.js';

/** `test/engine/kernel.test.ts` → `dist/test/engine/kernel.test.js`; anything else stays as it is. */
const compiled = (argument) =>
  /^(?:\.\/)?test\//.test(argument) ? `dist/${argument.replace(/^\.\//, '').replace(/\.ts$/, '.js')}` : argument;

const namesFiles = (argument) => argument.startsWith('dist/');

/**
 * @param {string} root
 * @param {readonly string[]} args for mocha
 * @returns {Promise<void>} when mocha has ended; its exit code becomes ours
 */
export function runTests(root, args) {
  const given = args.map(compiled);
  const files = given.some(namesFiles) ? [] : [ALL];
  const mocha = join(root, 'node_modules', 'mocha', 'bin', '_mocha');
  const child = spawn(process.execPath, ['--enable-source-maps', mocha, ...given, ...files], {
    cwd: root,
    stdio: 'inherit',
  });
  // Ctrl-C reaches mocha from the terminal; a signal to us alone is passed on.
  const forward = (signal) => child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      process.exitCode = code ?? 1;
      process.off('SIGINT', forward).off('SIGTERM', forward);
      resolve();
    });
  });
}
