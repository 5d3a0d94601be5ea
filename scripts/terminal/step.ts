import { systemClock } from '../../shared/clock.js';
import { CLEAR_LINE, formatLine, say, seconds, takeLastLine } from './line.js';
import { isEnding } from './signals.js';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 80;

/** The result of a step: its value, and the text of its last line. */
export interface Done<T> {
  readonly value: T;
  readonly text: string;
}

/** Runs `work` and shows it as one line, with a spinner on a terminal. */
export async function step<T>(name: string, doing: string, work: () => Promise<Done<T>>): Promise<T> {
  const startedMs = systemClock.monotonicMs();
  const elapsed = (): string => seconds(systemClock.monotonicMs() - startedMs);
  const clear = process.stderr.isTTY ? spin(name, doing, elapsed) : () => {};
  try {
    const { value, text } = await work();
    clear();
    say('done', name, `${text} (${elapsed()})`);
    return value;
  } catch (error) {
    clear();
    if (isEnding()) say('plain', name, `stopped (${elapsed()})`);
    else say('failed', name, `${doing}: failed (${elapsed()})`);
    throw error;
  }
}

function spin(name: string, doing: string, elapsed: () => string): () => void {
  let frame = 0;
  takeLastLine(true);
  const timer = setInterval(() => {
    frame = (frame + 1) % FRAMES.length;
    const text = formatLine('plain', name, `${doing} … ${elapsed()}`);
    process.stderr.write(`${CLEAR_LINE}${FRAMES[frame]}${text.slice(1)}`);
  }, FRAME_MS);
  return () => {
    clearInterval(timer);
    takeLastLine(false);
    process.stderr.write(CLEAR_LINE);
  };
}
