/** Progress of long work: a bar on a terminal, a few plain lines elsewhere. */
import { SingleBar } from 'cli-progress';
import { systemClock } from '../../shared/clock.js';
import { counted, formatLine, grouped, say, seconds, takeLastLine } from './line.js';

export interface Progress {
  /** Adds `count` finished pieces. `total`: a newly known number of pieces. */
  advance(count: number, total?: number): void;
  /** Ends the bar and prints the number of pieces, their time, and the rate. */
  finish(): void;
  /** Ends the bar of failed work: the terminal gets its cursor back. */
  abandon(): void;
}

/** The names of one piece and of several. */
export type Unit = readonly [one: string, many: string];

/** Without a terminal, a known total is divided into this many parts. A line is printed after each, except the last. */
const PLAIN_PARTS = 4;
/** Without a known total, a line is printed after so many pieces, and whenever their number has doubled. */
const COUNTED_FIRST = 100_000;
/** Lowest rate that is shown: for few and long pieces a rate has no meaning. */
const RATE_MIN = 10;

/**
 * Shows the progress of `total` pieces of work; undefined for an unknown number. It is a bar on a terminal, and a few plain lines
 * elsewhere.
 */
export function showProgress(name: string, total: number | undefined, unit: Unit): Progress {
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
      say('done', name, `${counted(done, ...unit)} (${seconds(elapsedMs)}${rate})`);
    },
    abandon: () => shown.clear(),
  };
}

/** Shows the progress of `work`, to its end or its failure. */
export async function withProgress<T>(
  name: string,
  total: number | undefined,
  unit: Unit,
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

function bar(name: string, total: number | undefined, [, unit]: Unit): Shown {
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

function plainLines(name: string, [, unit]: Unit): Shown {
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
