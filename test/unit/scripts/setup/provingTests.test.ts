/** The tests that prove a file, found by folder and name or by the first lines of a test. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { launchNode } from '../../../support/launch/process.js';
import { ROOT } from '../../../support/sourceTree.js';

const { provingTests, testsProving } = (await import(
  pathToFileURL(join(ROOT, 'scripts', 'setup', 'provingTests.mjs')).href
)) as {
  provingTests: (root: string) => { test: string; proves: string[] }[];
  testsProving: (root: string, file: string) => string[];
};

describe('the tests that prove a file', () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'vouch-proving-'));
    const write = (path: string, text = ''): void => {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    for (const path of ['shard/a.ts', 'shard/b.ts', 'console/c.tsx', 'scripts/d.mjs', 'shard/deep/e.ts']) write(path);
    write('test/unit/shard/a.test.ts', "import 'x';\n// Covers: shard/b.ts\n");
    write(
      'test/unit/shard/b.long.test.ts',
      '// Covers: shard/a.ts, shard/b.ts\n// Covers: config/f.json\n/** Head. */\n',
    );
    write('test/unit/console/c.test.ts');
    write('test/unit/scripts/d.test.ts');
    write('test/unit/shard/whole.test.ts', '// Covers: shard/deep/\n');
    write('test/unit/shard/nothing.test.ts', '/** Covers nothing. */\n');
    write('test/nats/shard/a.test.ts');
    write('test/nats/f.test.ts', '// Covers: shard/f.ts\n');
  });
  after(() => rmSync(root, { recursive: true }));

  it('have its folder and name, or name it or its folder in their first lines', () => {
    const [a, b] = ['test/unit/shard/a.test.ts', 'test/unit/shard/b.long.test.ts'];
    expect(testsProving(root, 'shard/a.ts')).to.deep.equal([a, b]);
    expect(testsProving(root, 'shard/b.ts')).to.deep.equal([b]);
    expect(testsProving(root, 'config/f.json')).to.deep.equal([b]);
    expect(testsProving(root, 'console/c.tsx')).to.deep.equal(['test/unit/console/c.test.ts']);
    expect(testsProving(root, 'scripts/d.mjs')).to.deep.equal(['test/unit/scripts/d.test.ts']);
    expect(testsProving(root, 'shard/deep/e.ts')).to.deep.equal(['test/unit/shard/whole.test.ts']);
    expect(testsProving(root, 'shard/deep.ts')).to.deep.equal([]);
    expect(testsProving(root, 'shard/f.ts')).to.deep.equal(['test/nats/f.test.ts']);
  });

  it('are listed without a file if they mirror none and name none', () => {
    expect(provingTests(root).filter(({ proves }) => proves.length === 0)).to.have.deep.members([
      { test: 'test/unit/shard/nothing.test.ts', proves: [] },
      { test: 'test/nats/shard/a.test.ts', proves: [] },
    ]);
  });

  it('are run and named by npm test with that file, which fails if no test proves it', async () => {
    const setUp = (file: string) => launchNode(join(ROOT, 'scripts', 'setup.mjs'), ['test:fast', file], { cwd: ROOT });
    const proven = setUp('shared/scheduling/periodicTask.ts');
    expect((await proven.waitForEnd()).code, proven.output).to.equal(0);
    expect(proven.output)
      .to.include('test/unit/shared/scheduling/periodicTask.test.ts')
      .and.to.match(/^1 passed/m);
    const unproven = setUp('test/support/sourceTree.ts');
    expect((await unproven.waitForEnd()).code).to.equal(1);
    expect(unproven.lines.at(-1)).to.equal('No test proves test/support/sourceTree.ts.');
  });
});
