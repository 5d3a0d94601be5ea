/**
 * `npm run fuzz -- [--minutes N] [--target NAME] [--seed N]`: runs all targets for equal times, until one finds
 * something.
 */
import { durationMs, parseFlags, runCommand, UsageError } from '../../scripts/terminal/commandLine.js';
import { grouped } from '../../scripts/terminal/line.js';
import { showProgress } from '../../scripts/terminal/progress.js';
import { EXIT_INTERRUPTED, isEnding, onSignals } from '../../scripts/terminal/signals.js';
import { unknownWord } from '../../scripts/terminal/unknownWord.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { fuzz } from './fuzz.js';
import { TARGETS } from './targets/all.js';

const NAMES = TARGETS.map(({ target }) => target.name).join(', ');
const USAGE = `npm run fuzz -- [--minutes N] [--target NAME] [--seed N]; targets: ${NAMES}`;

await runCommand({ name: 'fuzz', usage: USAGE }, async (args) => {
  const { values } = parseFlags({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      target: { type: 'string' },
      seed: { type: 'string', default: String(Buffer.from(systemEntropy(4)).readUInt32LE()) },
    },
  });
  const runMs = durationMs('--minutes', values.minutes, 'minutes');
  const seed = Number(values.seed);
  const chosen = TARGETS.filter(({ target }) => values.target === undefined || target.name === values.target);
  if (!Number.isInteger(seed)) throw new UsageError(`--seed is ${values.seed}; allowed is a whole number`);
  if (chosen.length === 0)
    throw new UsageError(
      unknownWord(
        'target',
        values.target!,
        TARGETS.map(({ target }) => target.name),
      ),
    );
  // Closes the running target, and removes its folder.
  onSignals(
    () => undefined,
    () => process.exit(EXIT_INTERRUPTED),
  );
  await fuzzAll(chosen, seed, runMs);
  if (isEnding()) process.exitCode = EXIT_INTERRUPTED;
});

/** Runs each target for equal times. Throws a Finding. */
async function fuzzAll(chosen: typeof TARGETS, seed: number, runMs: number): Promise<void> {
  console.log(`seed ${seed}, ${runMs / 60_000} minutes in total`);
  const eachSecs = Math.ceil(runMs / 1_000 / chosen.length);
  for (const { target } of chosen) {
    if (isEnding()) return;
    const startMs = systemClock.monotonicMs();
    const progress = showProgress(target.name, eachSecs, ['second', 'seconds']);
    let shownSecs = 0;
    const { cases, refused, taken } = await fuzz(target, {
      seed,
      shouldContinue: () => {
        const spentSecs = Math.min(Math.floor((systemClock.monotonicMs() - startMs) / 1000), eachSecs);
        if (spentSecs > shownSecs) progress.advance(spentSecs - shownSecs);
        shownSecs = spentSecs;
        return spentSecs < eachSecs && !isEnding();
      },
    }).catch((error: unknown) => {
      progress.abandon();
      throw error;
    });
    progress.finish();
    console.log(
      `${target.name.padEnd(12)}${grouped(cases)} cases, ${grouped(refused)} refused, ${grouped(taken)} accepted`,
    );
  }
}
