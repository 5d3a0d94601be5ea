/** Milliseconds that a test waits for an event, on a slow and busy machine. Not a measure of speed. */
export const PATIENCE_MS = 100_000;

/** The longest pause between two looks at a condition. */
const PAUSE_MAX_MS = 200;

/** Pause before the next look at a condition: it grows with the wait, so that looks take little of a busy machine. */
export const pauseMs = (waitedMs: number): number => Math.min(PAUSE_MAX_MS, 5 + waitedMs / 10);
