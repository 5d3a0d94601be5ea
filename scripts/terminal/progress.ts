import { SingleBar } from 'cli-progress';
import { systemClock } from '../../shared/clock.js';
import { formatLine, grouped, say, seconds, takeLastLine } from './line.js';

export interface Progress {
  /** `count` more are done; `total`: how many pieces there are, where it is known better by now. */
  advance(count: number, total?: number): void;
  /** Ends the bar and says how many pieces there were, how long they took, and the rate. */
  finish(): void;
  /** Ends the bar of work that has failed: the terminal gets its cursor back. */
  abandon(): void;
}

/** Without a terminal, a line is printed after each of so many parts. */
const PLAIN_PARTS = 4;
/** Where nobody knows how many pieces there are, a line is printed after so many, and whenever they are twice as many. */
const COUNTED_FIRST = 100_000;
/** A lower rate is not shown: it says nothing of few and long pieces. */
const RATE_MIN = 10;

/**
 * Shows the progress of `total` pieces of work, undefined where nobody knows how many there are: a bar on a terminal, a few
 * plain lines elsewhere.
 */
export function showProgress(name: string, total: number | undefined, unit: string): Progress {
  const startedMs = systemClock.monotonicMs();
  let done = 0;
  const shown = process.stderr.isTTY ? bar(name, total, unit) : plainLines(name, unit);
  return {
    advance(count, known = total) {
      done += count;
      shown.update(done, known);
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

/** Shows the progress of `work`, to its end or its failure. */
export async function withProgress<T>(
  name: string,
  total: number | undefined,
  unit: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = showProgress(name, total, unit);
  try {
    const result = await work(progress);
    progress.finish();
    return result;
  } catch (error) {
    progress.abandon();
    throw error;
  }
}

interface Shown {
  update(done: number, total: number | undefined): void;
  clear(): void;
}

function bar(name: string, total: number | undefined, unit: string): Shown {
  const format = (counted: string): string => formatLine('plain', name, counted);
  const single = new SingleBar({
    format: format(
      total === undefined ? `{value} ${unit}` : `{bar} {percentage}%  {value}/{total} ${unit}, {eta_formatted} left`,
    ),
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stderr,
  });
  single.start(total ?? 0, 0);
  takeLastLine(true);
  return {
    update: (done, known) => {
      if (known !== undefined) single.setTotal(known);
      single.update(done);
    },
    clear: () => {
      takeLastLine(false);
      single.stop();
    },
  };
}
function plainLines(name: string, unit: string): Shown {
  let parts = 0;
  let next = COUNTED_FIRST;
  return {
    update(done, total) {
      if (total === undefined) {
        if (done < next) return;
        next = 2 * done;
        say('plain', name, `${grouped(done)} ${unit}`);
        return;
      }
      const reached = Math.floor((PLAIN_PARTS * done) / total);
      if (reached <= parts || reached >= PLAIN_PARTS) return;
      parts = reached;
      say('plain', name, `${grouped(done)} of ${grouped(total)} ${unit}`);
    },
    clear() {},
  };
}
