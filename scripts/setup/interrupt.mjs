/**
 * Ctrl-C while set-up runs: it ends its programs and then itself. An npm that is left to it takes back what it has begun, for
 * half a minute: beside the next set-up it would take that one's packages.
 */

export const EXIT_INTERRUPTED = 130;
/** Ctrl-C under npm comes twice: from the terminal to everybody, and from npm, which passes it on. */
const SAME_SIGNAL_MS = 500;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** What was asked for has not been done, because somebody asked to stop. */
export class Interrupted extends Error {}

/** The programs that run now. */
const children = new Set();
let firstAtMs;

export const isInterrupted = () => firstAtMs !== undefined;

/** Registers a child process that must not outlive set-up. */
export function guard(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
}

/**
 * Runs `work`. At a signal its programs are killed, since what is half done is begun anew the next time, and what waits for one
 * gets Interrupted when it is gone. Where none runs, and at a later signal, this process ends at once.
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
  if (!isFirst || children.size === 0) process.exit(EXIT_INTERRUPTED);
  for (const child of children) child.kill('SIGKILL');
}
