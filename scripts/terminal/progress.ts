import { SingleBar } from 'cli-progress';
import { systemClock } from '../../shared/clock.js';
import { formatLine, grouped, say, seconds, takeLastLine } from './line.js';

export interface Progress {
  /** `count` more are done. */
  advance(count: number): void;
  /** Ends the bar and says how many there were, how long they took and how many a second that is. */
  finish(): void;
  /** Ends the bar without a word, when the work has failed: the terminal gets its cursor back. */
  abandon(): void;
}

/** Without a terminal a line is printed each time another part of so many is done. */
const PLAIN_PARTS = 4;
/** Of few and long pieces of work the rate says nothing. */
const RATE_MIN = 10;

/** Shows how far along `total` pieces of work are: a bar on a terminal, a few plain lines elsewhere. */
export function showProgress(name: string, total: number, unit: string): Progress {
  const startedMs = systemClock.monotonicMs();
  let done = 0;
  const shown = process.stderr.isTTY ? bar(name, total, unit) : plainLines(name, total, unit);
  return {
    advance(count) {
      done += count;
      shown.update(done);
    },
    finish() {
      shown.clear();
      const elapsedMs = systemClock.monotonicMs() - startedMs;
      const perSecond = Math.round((done * 1000) / elapsedMs);
      const rate = elapsedMs > 0 && perSecond >= RATE_MIN ? `, ${grouped(perSecond)} a second` : '';
      say('done', name, `${grouped(done)} ${unit} (${seconds(elapsedMs)}${rate})`);
    },
    abandon: () => shown.clear(),
  };
}

interface Shown {
  update(done: number): void;
  clear(): void;
}

function bar(name: string, total: number, unit: string): Shown {
  const single = new SingleBar({
    format: formatLine('plain', name, `{bar} {percentage}%  {value}/{total} ${unit}, {eta_formatted} left`),
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  });
  single.start(total, 0);
  takeLastLine(true);
  return {
    update: (done) => single.update(done),
    clear: () => {
      takeLastLine(false);
      single.stop();
    },
  };
}

function plainLines(name: string, total: number, unit: string): Shown {
  let parts = 0;
  return {
    update(done) {
      const reached = Math.floor((PLAIN_PARTS * done) / total);
      if (reached <= parts || reached >= PLAIN_PARTS) return;
      parts = reached;
      say('plain', name, `${grouped(done)} of ${grouped(total)} ${unit}`);
    },
    clear() {},
  };
}
