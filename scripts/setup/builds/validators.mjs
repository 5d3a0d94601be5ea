/**
 * Compiles the files for which typia writes validators: `node scripts/setup/builds/validators.mjs <dist> <file…>`. It must get
 * all of them, in one order, since typia's output depends on the order in which the compiler meets the types.
 */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const ts = createRequire(import.meta.url)('ts-patch/compiler/typescript.js');
const [dist, ...files] = process.argv.slice(2);

const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
const program = ts.createProgram(
  files.map((path) => join(root, path)),
  { ...options, noCheck: true, outDir: resolve(dist), types: ['node'] },
);
const errors = files.flatMap((path) => program.emit(program.getSourceFile(join(root, path))).diagnostics);
if (errors.length > 0) {
  const host = { getCurrentDirectory: () => root, getCanonicalFileName: (path) => path, getNewLine: () => '\n' };
  process.stderr.write(ts.formatDiagnostics(errors, host));
  process.exitCode = 1;
}
