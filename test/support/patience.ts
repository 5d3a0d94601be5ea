/** Milliseconds that a test waits for an event, on a slow and busy machine. Not a measure of speed. */
export const PATIENCE_MS = 100_000;
