/**
 * Handles Ctrl-C during set-up: ends its programs and then itself. An interrupted npm would remove packages for half a minute, and
 * so damage the next set-up; therefore it is killed.
 */

export const EXIT_INTERRUPTED = 130;
/** Time within which two signals count as one: Ctrl-C under npm arrives from the terminal and from npm. */
const SAME_SIGNAL_MS = 500;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Error of work that was stopped by a signal. */
export class Interrupted extends Error {}

/** The running programs. */
const children = new Set();
let firstAtMs;

const interruption = new AbortController();

/** Aborted at the first signal. */
export const interruptSignal = interruption.signal;

export const isInterrupted = () => firstAtMs !== undefined;

/** Registers a child process that must not outlive set-up. */
export function guard(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
}

/**
 * Runs `work`. At a signal its programs are killed, since unfinished parts are made again the next time. Code that waits for a
 * program gets Interrupted when that has ended. Without a running program, and at a later signal, this process ends at once.
 */
export async function interruptible(work) {
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

function onSignal() {
  const isFirst = firstAtMs === undefined;
  if (!isFirst && Date.now() - firstAtMs <= SAME_SIGNAL_MS) return;
  firstAtMs ??= Date.now();
  interruption.abort();
  if (!isFirst || children.size === 0) process.exit(EXIT_INTERRUPTED);
  for (const child of children) child.kill('SIGKILL');
}
