/**
 * Runs mocha over the compiled tests: all of them, the fast ones, or those that the arguments name, by source or by output.
 * Whole suites are run in groups, several at the same time, since most tests wait for other processes and for the disk.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
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

export const TEST_USAGE = `FILE is a source or a compiled file below test/, or a pattern of them; without one the whole suite runs.

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

const CLUSTER = ['--grep', '\\(cluster\\)'];
const STANDALONE = [...CLUSTER, '--invert'];

const LONG_CONTRACT = /^contract\/\w+\.long\./;
const STALLS = /^attack\/stalls/;
/** Tests of the API that take long. The whole suite runs them in one mode, which is drawn anew each time. */
const IN_ONE_MODE = [LONG_CONTRACT, STALLS];

/**
 * Which files below `test/` are run together: each with the first that fits, and what fits none in a group of its own, which begins
 * first. The others begin in this order: those that take less time come last, so that the lanes end together.
 */
const GROUPS = [
  LONG_CONTRACT,
  /^cluster\/otherNode/,
  STALLS,
  /^contract\/[^f-qs]/,
  /^cluster\/[m-z]/,
  /^contract\/[f-q]/,
  /^faults\/damage/,
  /^(?:cluster\/b|console|interop)/,
  /^(?:attack|nats)\//,
  /^unit\/shard\/index\//,
  /^unit\/(?:shard|verifier)\//,
  /^faults\//,
  /^contract\//,
  /^cluster\/[a-h]/,
  /^cluster\//,
];

/** Of the groups, at a time: one of them waits for the disk or for timers. With more, requests wait too long for their deadlines. */
const LANES = availableParallelism() + 1;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Unless the arguments choose tests by their names. */
const inMode = (mode, given) => (given.some((argument) => /^(?:-g|-f|--f?grep)/.test(argument)) ? [] : mode);

/** The arguments of each group. */
function all(root, given) {
  const modeOf = (group) =>
    IN_ONE_MODE.includes(GROUPS[group]) ? inMode([CLUSTER, STANDALONE][randomInt(2)], given) : [];
  const files = filesUnder(join(root, 'dist', 'test'), ['.'], '.test.js');
  const groupOf = (file) => GROUPS.findIndex((group) => group.test(file));
  return [-1, ...GROUPS.keys()]
    .map((group) => ({ group, own: files.filter((file) => groupOf(file) === group) }))
    .filter(({ own }) => own.length > 0)
    .map(({ group, own }) => [...own.map((file) => join('dist', 'test', file)), ...modeOf(group)]);
}

/** The API in one mode; and the units, without those that take seconds. */
export const fast = (_, given) => [
  ['dist/test/contract/**/!(*.long).test.js', ...inMode(STANDALONE, given)],
  ['dist/test/*.test.js', 'dist/test/unit/**/!(*.long).test.js'],
];

/** `test/unit/shared/fixedPoint.test.ts` → `dist/test/unit/shared/fixedPoint.test.js`; anything else stays as it is. */
const compiled = (argument) =>
  /^(?:\.\/)?test\//.test(argument) ? `dist/${argument.replace(/^\.\//, '').replace(/\.ts$/, '.js')}` : argument;

const namesFiles = (argument) => argument.startsWith('dist/');

/**
 * @param {string} root
 * @param {readonly string[]} args for mocha
 * @param {(root: string, args: readonly string[]) => readonly (readonly string[])[]} groupsOf the arguments of each group, where
 *     `args` name no files
 * @returns {Promise<void>} when mocha has ended; its exit code becomes ours
 */
export async function runTests(root, args, groupsOf = all) {
  const given = args.map(compiled);
  const groups = (given.some(namesFiles) ? [[]] : groupsOf(root, given)).map((files) => ({
    files,
    output: new Output(),
  }));
  const command = ['--enable-source-maps', join(root, 'node_modules', 'mocha', 'bin', '_mocha'), ...given];
  if (process.stdout.isTTY) command.push('--color');
  const running = new Set();
  let stopped = false;
  // Ctrl-C reaches mocha from the terminal; a signal to this process alone is passed on.
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
      child.stdout?.on('data', (chunk) => output.take(chunk));
      const [code] = await once(child, 'close');
      return code ?? 1;
    } catch (error) {
      output.take(`mocha could not be run: ${error.message}\n`);
      return 1;
    } finally {
      running.delete(child);
    }
  };
  let failed = 0;
  const waiting = groups.values();
  const lane = async () => {
    for (const { files, output } of waiting) {
      if (!stopped) failed = Math.max(failed, await runGroup(files, output));
      output.end();
    }
  };
  const lanes = Array.from({ length: LANES }, lane);
  for (const { output } of groups) await output.show();
  await Promise.all(lanes);
  for (const signal of SIGNALS) process.off(signal, forward);
  process.exitCode = failed;
}

/** What a group prints is shown behind what those before it have printed: until then it is kept in memory. */
class Output {
  #kept = [];
  #shown = false;
  #end;
  #over = new Promise((resolve) => {
    this.#end = resolve;
  });

  take(chunk) {
    if (this.#shown) process.stdout.write(chunk);
    else this.#kept.push(chunk);
  }

  end() {
    this.#end();
  }

  /** Resolves when all of it is shown. */
  show() {
    this.#shown = true;
    for (const chunk of this.#kept.splice(0)) process.stdout.write(chunk);
    return this.#over;
  }
}
