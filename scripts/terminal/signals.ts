/** Signals that end a command: Ctrl-C, SIGTERM and a closed terminal. */
import { systemClock } from '../../shared/clock.js';

export const EXIT_INTERRUPTED = 130;
/** Time within which two signals count as one: Ctrl-C under npm arrives from the terminal and from npm. */
const SAME_SIGNAL_MS = 500;

let isAsked = false;

/** Whether a signal has arrived: work that ends then has not failed. */
export const isEnding = (): boolean => isAsked;

/** Calls `end` at the first signal and `insist` at later ones. Returns a function that has the effect of a signal. */
export function onSignals(end: () => void, insist: () => void): () => void {
  let firstAtMs: number | undefined;
  const onSignal = (): void => {
    const nowMs = systemClock.monotonicMs();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      isAsked = true;
      end();
    } else if (nowMs - firstAtMs > SAME_SIGNAL_MS) insist();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return onSignal;
}
