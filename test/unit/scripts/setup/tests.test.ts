// Covers: shared/clock.ts
/** The suites of tests, and a run that is ended early with its processes. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { atLength, titleIn } from '../../../support/atLength.js';
import { eventually } from '../../../support/expectations.js';
import { isAlive, type Launched, launch } from '../../../support/launch/process.js';
import { filesBelow, ROOT } from '../../../support/sourceTree.js';

const RUNNER = new URL('../../../../../scripts/setup/tests.mjs', import.meta.url).href;
const ENDLESS = fileURLToPath(new URL('../../../support/launch/endlessTest.js', import.meta.url)).slice(ROOT.length);

describe('a test run', () => {
  let folder: string;
  let run: Launched;
  let mocha: number;
  let children: number[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-run-'));
    const program = `import { runTests } from '${RUNNER}'; await runTests('${ROOT}', ['${ENDLESS.replace(/^\//, '')}']);`;
    run = launch(process.execPath, ['--input-type=module', '-e', program], { env: { ENDLESS_FOLDER: folder } });
    const line = await run.waitForLine(/children \d/);
    [mocha, ...children] = line.match(/\d+/g)!.map(Number) as [number, ...number[]];
    expect(children).to.have.length(3);
    expect([mocha, ...children].filter((pid) => !isAlive(pid))).to.deep.equal([]);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const expectGone = (): Promise<void> =>
    eventually('every child of the tests is gone', () => ![mocha, ...children].some(isAlive));

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    it(`ends with 130 and leaves no process after ${signal}`, async () => {
      run.signal(signal);
      expect(await run.waitForEnd()).to.deep.equal({ code: 130, signal: null });
      await expectGone();
    });

  it('leaves no process after a second SIGINT, which npm sends', async () => {
    process.kill(mocha, 'SIGINT');
    run.signal('SIGINT');
    expect((await run.waitForEnd()).code).to.equal(130);
    await expectGone();
  });

  it('leaves no process after kill -9 of the process that runs mocha', async () => {
    await run.kill();
    await expectGone();
  });

  it('leaves no process after kill -9 of mocha', async () => {
    process.kill(mocha, 'SIGKILL');
    expect((await run.waitForEnd()).code).to.equal(1);
    await expectGone();
  });
});

describe('the suites of tests', () => {
  interface Part {
    readonly has: (file: string) => boolean;
    readonly mocha: readonly string[];
  }
  const FILES = ['contract/a.test.js', 'contract/a.long.test.js', 'faults/a.test.js', 'unit/a.test.js', 'tidy.test.js'];
  const TITLES = [
    ...['records (cluster)', 'records (standalone)', atLength('records'), titleIn('cluster', 'records', 'cluster')],
    ...['records (through the client)', 'the HTTP edge, HTTP by node (cluster)'],
  ];

  let suites: Readonly<Record<string, { readonly parts: readonly Part[] }>>;
  before(async () => {
    ({ SUITES: suites } = await import(RUNNER));
  });
  const has = (suite: string, file: string, title: string): boolean =>
    suites[suite]!.parts.some(({ has, mocha: [, pattern = '', invert] }) => {
      return has(file) && new RegExp(pattern).test(title) === (invert === undefined);
    });

  it('run each test in npm test or in npm run test:long, and never in both', () => {
    for (const file of FILES)
      for (const title of /^(?:contract|faults)/.test(file) ? TITLES : TITLES.slice(0, 2))
        expect([has('short', file, title) !== has('long', file, title), has('all', file, title)], file).to.deep.equal([
          true,
          true,
        ]);
    const isShort = TITLES.map((title) => has('short', FILES[0]!, title));
    expect(isShort).to.deep.equal([true, true, false, false, false, false]);
  });

  it('run in npm run test:long all tests that are long by their titles', () => {
    const named = filesBelow('test', '.test.ts').filter((file) =>
      /^\s*(?:it|describe)\(.*(?:atLength|titleIn)\(|^inBothModesA/m.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    expect(named).to.have.length.above(10);
    const compiled = named.map((file) => file.replace(/^test\//, '').replace(/\.ts$/, '.js'));
    expect(compiled.filter((file) => !has('long', file, atLength('records')))).to.deep.equal([]);
  });
});
