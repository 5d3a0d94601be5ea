/** How long a test waits for what must come, on a machine that is slow and busy: it says nothing of how fast that is. */
export const PATIENCE_MS = 100_000;
