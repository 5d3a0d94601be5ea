/**
 * The unit tests that prove a file. A test below `test/unit/` proves the file whose folder and name it mirrors, and the files and
 * folders that its first lines name: `// Covers: shard/state/growth.ts, verifier/tlog/`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesUnder } from './sources.mjs';

const FOLDER = 'test/unit/';
const TEST_ENDING = /(?:\.long)?\.test\.ts$/;
const SOURCE_ENDINGS = ['.ts', '.tsx', '.mjs'];
const COVERS = /^(?:\/\/ Covers: .+\n)+/;

/**
 * Lists the unit tests with what each proves, all relative to the root.
 *
 * @param {string} root
 * @returns {{ test: string, proves: string[] }[]} `proves` may name a path that does not exist; a folder ends with a slash
 */
export function unitTests(root) {
  return filesUnder(root, [FOLDER], '.test.ts').map((path) => {
    const test = path.replaceAll('\\', '/');
    const mirrored = test.slice(FOLDER.length).replace(TEST_ENDING, '');
    const own = SOURCE_ENDINGS.map((ending) => mirrored + ending).filter((source) => existsSync(join(root, source)));
    return { test, proves: [...new Set([...own, ...namedIn(readFileSync(join(root, path), 'utf8'))])] };
  });
}

const namedIn = (text) =>
  (COVERS.exec(text)?.[0] ?? '')
    .split('\n')
    .flatMap((line) => line.replace('// Covers: ', '').split(', '))
    .filter((path) => path !== '');

/** Lists the unit tests that prove a file. */
export const unitTestsOf = (root, file) =>
  unitTests(root)
    .filter(({ proves }) => proves.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path)))
    .map(({ test }) => test);
