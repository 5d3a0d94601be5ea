/**
 * The tests that prove a file: those that name it, or a folder of it, in their first lines, as in
 * `// Covers: shard/state/growth.ts, verifier/tlog/`. A test below `test/unit/` also proves the file whose folder and name it mirrors.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesUnder } from './sources.mjs';

const FOLDER = 'test/';
const MIRROR = 'test/unit/';
const TEST_ENDING = /(?:\.long)?\.test\.ts$/;
const SOURCE_ENDINGS = ['.ts', '.tsx', '.mjs'];
const COVERS = /^(?:\/\/ Covers: .+\n)+/;

/**
 * Lists all tests with the paths that each proves. A folder ends with a slash. Some paths may not exist.
 *
 * @param {string} root
 * @returns {{ test: string, proves: string[] }[]}
 */
export function provingTests(root) {
  return filesUnder(root, [FOLDER], '.test.ts').map((path) => {
    const test = path.replaceAll('\\', '/');
    return {
      test,
      proves: [...new Set([...mirroredBy(root, test), ...namedIn(readFileSync(join(root, path), 'utf8'))])],
    };
  });
}

function mirroredBy(root, test) {
  if (!test.startsWith(MIRROR)) return [];
  const path = test.slice(MIRROR.length).replace(TEST_ENDING, '');
  return SOURCE_ENDINGS.map((ending) => path + ending).filter((source) => existsSync(join(root, source)));
}

const namedIn = (text) =>
  (COVERS.exec(text)?.[0] ?? '')
    .split('\n')
    .flatMap((line) => line.replace('// Covers: ', '').split(', '))
    .filter((path) => path !== '');

/** Lists the tests that prove a file. */
export const testsProving = (root, file) =>
  provingTests(root)
    .filter(({ proves }) => proves.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path)))
    .map(({ test }) => test);
