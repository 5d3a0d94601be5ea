/** The abortion of signals that callers give. */

interface Waiting {
  readonly runs: Set<() => void>;
  readonly abort: () => void;
}

/** One listener of each signal, however many calls wait for it: Node warns of a leak if a signal has more than ten. */
const waiting = new WeakMap<AbortSignal, Waiting>();

/** Calls `run` when the signal is aborted. Returns the function that cancels it. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  const { runs, abort } = waiting.get(signal) ?? listen(signal);
  runs.add(run);
  return () => {
    runs.delete(run);
    if (runs.size > 0 || waiting.get(signal)?.runs !== runs) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', abort);
  };
}

function listen(signal: AbortSignal): Waiting {
  const runs = new Set<() => void>();
  const abort = (): void => {
    for (const run of [...runs]) run();
  };
  const made = { runs, abort };
  waiting.set(signal, made);
  signal.addEventListener('abort', abort, { once: true });
  return made;
}
