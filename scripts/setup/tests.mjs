/**
 * Runs mocha over the compiled tests: a suite, or the tests named by the arguments, by source or by output. Suites run in groups,
 * several concurrently, since most tests wait for other processes and for the disk.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { filesUnder } from './sources.mjs';

/** The options of mocha that `npm test` accepts. */
export const TEST_OPTIONS = {
  grep: { type: 'string', short: 'g' },
  fgrep: { type: 'string', short: 'f' },
  invert: { type: 'boolean', short: 'i' },
  bail: { type: 'boolean', short: 'b' },
  timeout: { type: 'string', short: 't' },
  slow: { type: 'string', short: 's' },
  retries: { type: 'string' },
  reporter: { type: 'string', short: 'R' },
  'forbid-only': { type: 'boolean' },
  'full-trace': { type: 'boolean' },
};

export const TEST_USAGE = `FILE is a source or a compiled file below test/, or a pattern of them; without one the whole suite runs. Any other file, such as
shard/state/commitBuilder.ts, stands for the tests that prove it.

  --grep WORDS, -g    tests whose name matches this regular expression
  --fgrep WORDS, -f   tests whose name holds these words
  --invert, -i        all tests but those
  --bail, -b          end at the first failure
  --timeout MS, -t    of one test; 0: none
  --slow MS, -s       from when on the time of a test is shown
  --retries N         of a test that fails
  --reporter NAME, -R one of mocha's
  --forbid-only       fail if a test is marked to run alone
  --full-trace        whole stacks of failures

VOUCH_SEED repeats the randomised tests of a run. Ctrl-C ends the run and every process that it has started.`;

const isLong = (file) => file.endsWith('.long.test.js');

/** Folders whose tests may be long by their titles. */
const MAY_BE_LONG = /^(?:cluster|contract|faults|simulate)\//;

/**
 * Titles of long suites and tests in other files. They are those of `atLength` in test/support/atLength.ts. The contract runs again
 * through the package of the client, and over the other HTTP engine.
 */
const LONG_TITLES = '\\((?:through the client|at length)\\)|, HTTP by ';
const only = (titles) => ['--grep', titles];
const without = (titles) => ['--grep', titles, '--invert'];

/** Every unit, every row of the API in both modes, and one pass of each kind of fault. */
const SHORT = [{ has: (file) => !isLong(file), mocha: without(LONG_TITLES) }];
/** All tests that `SHORT` leaves out. */
const LONG = [
  { has: isLong, mocha: [] },
  { has: (file) => MAY_BE_LONG.test(file) && !isLong(file), mocha: only(LONG_TITLES) },
];

/** The parts of each suite: files, by their paths below `dist/test/`, and mocha's options that choose from their tests. */
export const SUITES = {
  /** Units, and the API in one mode. */
  fast: {
    parts: [
      {
        has: (file) => /^(?:contract|unit)\/|^\w+\.test/.test(file) && !isLong(file),
        mocha: without(`\\(cluster\\)|${LONG_TITLES}`),
      },
    ],
  },
  short: { parts: SHORT },
  long: { parts: LONG },
  all: { parts: [...SHORT, ...LONG] },
};

/** Groups that run besides one for each core, since groups often wait for the disk or for timers. */
const WAITING = 2;

/**
 * The groups of files below `test/`. A file belongs to the first pattern that matches it. Files without a match form a group that
 * begins first. The others begin in this order: the longest first, so that the lanes end together.
 */
const GROUPS = [
  /^(?:attack\/(?!stalls)|faults|nats|simulate).*\.long\./,
  /^unit\/shard\/index\/.*\.long\./,
  /^unit\/.*\.long\./,
  /^attack\/stalls\/.*\.long\./,
  /^contract\/.*\.long\./,
  /^cluster\/[a-k].*\.long\./,
  /^cluster\/l.*\.long\./,
  /^cluster\/.*\.long\./,
  /\.long\./,
  /^contract\/[^f-qs]/,
  /^faults\/(?!damage)/,
  /^cluster\/[m-z]/,
  /^unit\/shard\/(?!index\/)/,
  /^contract\/[f-q]/,
  /^nats\//,
  /^contract\//,
  /^unit\/shard\//,
  /^faults\//,
  /^cluster\//,
];

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** `test/unit/shared/fixedPoint.test.ts` → `dist/test/unit/shared/fixedPoint.test.js`; anything else stays as it is. */
const compiled = (argument) =>
  /^(?:\.\/)?test\//.test(argument) ? `dist/${argument.replace(/^\.\//, '').replace(/\.ts$/, '.js')}` : argument;

const namesFiles = (args) => args.map(compiled).some((argument) => argument.startsWith('dist/'));

/** Whether the arguments choose some of the tests. */
export const areSome = (args) => namesFiles(args) || args.some((argument) => /^(?:-g|-f|--f?grep)/.test(argument));

/** The files and options of each group. Options that choose by name replace those of the suite, since mocha takes one choice. */
function groupsOf(root, { parts }, args) {
  const tests = filesUnder(join(root, 'dist', 'test'), ['.'], '.test.js');
  const groupOf = (file) => GROUPS.findIndex((group) => group.test(file));
  const chosen = areSome(args) ? [{ has: (file) => parts.some((part) => part.has(file)), mocha: [] }] : parts;
  return chosen.flatMap(({ has, mocha }) => {
    const files = tests.filter(has);
    return [-1, ...GROUPS.keys()]
      .map((group) => files.filter((file) => groupOf(file) === group))
      .filter((own) => own.length > 0)
      .map((own) => [...own.map((file) => join('dist', 'test', file)), ...mocha]);
  });
}

/**
 * @param {string} root
 * @param {readonly string[]} args for mocha
 * @param {{ parts: { has: (file: string) => boolean, mocha: readonly string[] }[] }} suite runs if `args` name no files
 * @returns {Promise<void>} when mocha has ended. The exit code of this process is then set.
 */
export async function runTests(root, args, suite = SUITES.short) {
  const given = args.map(compiled);
  const groups = (namesFiles(args) ? [[]] : groupsOf(root, suite, args)).map((files) => ({
    files,
    output: new Output(),
  }));
  const command = ['--enable-source-maps', join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'), ...given];
  if (process.stdout.isTTY) command.push('--color');
  const running = new Set();
  let stopped = false;
  // Ctrl-C reaches mocha from the terminal; a signal to only this process is passed on.
  const forward = (signal) => {
    stopped = true;
    for (const child of running) child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  const runGroup = async (files, output) => {
    // The channel closes when this process is gone, also after kill -9: see test/support/endWithRunner.ts.
    const stdio = ['inherit', 'pipe', 'inherit', 'ipc'];
    const child = spawn(process.execPath, [...command, ...files], { cwd: root, stdio });
    running.add(child);
    try {
      child.stdout?.setEncoding('utf8').on('data', (chunk) => output.take(chunk));
      const [code] = await once(child, 'close');
      return code ?? 1;
    } catch (error) {
      output.take(`mocha could not be run: ${error.message}\n`);
      return 1;
    } finally {
      running.delete(child);
    }
  };
  const waiting = groups.values();
  const lane = async () => {
    for (const { files, output } of waiting) output.end(stopped ? 0 : await runGroup(files, output));
  };
  const lanes = Array.from({ length: availableParallelism() + WAITING }, lane);
  for (const { output } of groups) await output.show();
  await Promise.all(lanes);
  for (const signal of SIGNALS) process.off(signal, forward);
  process.exitCode = Math.max(...groups.map(({ output }) => output.code));
  report(groups.map(({ output }) => output));
}

/** Prints the failures of several groups again, at the end, and one line for all groups. */
function report(outputs) {
  if (outputs.length > 1) for (const { failures } of outputs) process.stdout.write(failures);
  const total = (word) => outputs.reduce((sum, output) => sum + output.count(word), 0);
  // A group that ended early has failed, even if it counted no failure.
  const broken = outputs.filter((output) => output.code !== 0 && output.count('failing') === 0).length;
  process.stdout.write(
    `${total('passing')} passed, ${total('failing') + broken} failed, ${total('pending')} skipped\n`,
  );
}

/** The output of a group, shown after that of earlier groups. */
class Output {
  code = 0;
  #text = '';
  #isShown = false;
  #end;
  #over = new Promise((resolve) => {
    this.#end = resolve;
  });

  take(chunk) {
    this.#text += chunk;
    if (this.#isShown) process.stdout.write(chunk);
  }

  end(code) {
    this.code = code;
    this.#end();
  }

  /** Resolves when the whole output is shown. */
  show() {
    this.#isShown = true;
    process.stdout.write(this.#text);
    return this.#over;
  }

  /** The count that mocha's reporter `spec` prints: of `passing`, `failing` or `pending`. */
  count(word) {
    return Number(this.#text.match(new RegExp(`^\\W*(\\d+) ${word}\\b`, 'm'))?.[1] ?? 0);
  }

  get failures() {
    return this.#text.match(/^\W*\d+ failing$[\s\S]*/m)?.[0] ?? '';
  }
}
