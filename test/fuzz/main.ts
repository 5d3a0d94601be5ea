/** `npm run fuzz -- [--minutes N] [--target NAME] [--seed N]`: every target for as long, until something is found. */
import { parseArgs } from 'node:util';
import { grouped } from '../../scripts/terminal/line.js';
import { showProgress } from '../../scripts/terminal/progress.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { Finding, fuzz } from './fuzz.js';
import { TARGETS } from './targets/all.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    target: { type: 'string' },
    seed: { type: 'string', default: String(Buffer.from(systemEntropy(4)).readUInt32LE()) },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const chosen = TARGETS.filter(({ target }) => values.target === undefined || target.name === values.target);
if (!(minutes > 0) || !Number.isInteger(seed) || chosen.length === 0) {
  const names = TARGETS.map(({ target }) => target.name).join(', ');
  process.stderr.write(`usage: npm run fuzz -- [--minutes N] [--target NAME] [--seed N]; targets: ${names}\n`);
  process.exit(2);
}

console.log(`seed ${seed}, ${minutes} minutes in all`);
const eachSecs = Math.ceil((minutes * 60) / chosen.length);
try {
  for (const { target } of chosen) {
    const startMs = systemClock.monotonicMs();
    const progress = showProgress(target.name, eachSecs, 'seconds');
    let shownSecs = 0;
    const { cases, refused, taken } = await fuzz(target, {
      seed,
      goOn: () => {
        const spentSecs = Math.min(Math.floor((systemClock.monotonicMs() - startMs) / 1000), eachSecs);
        if (spentSecs > shownSecs) progress.advance(spentSecs - shownSecs);
        shownSecs = spentSecs;
        return spentSecs < eachSecs;
      },
    }).catch((error: unknown) => {
      progress.abandon();
      throw error;
    });
    progress.finish();
    console.log(`${target.name.padEnd(12)}${grouped(cases)} cases, ${grouped(refused)} refused, ${grouped(taken)} fit`);
  }
} catch (error) {
  if (!(error instanceof Finding)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
