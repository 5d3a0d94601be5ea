/** The life of a server process: start, serve until told to stop, stop within bounds. */

import { messageOf } from './errors.js';
import type { Logger } from './logger.js';

/** A stop that takes longer is cut off. */
const STOP_MS = 15_000;

/**
 * Runs `start` and then waits for SIGTERM, SIGINT or a call of `end`; then runs what `start` returned and exits. A start
 * that fails prints one line and exits with 1. `leaveMs`: what the stop may take beyond the usual, since others have to do
 * something first. A second signal ends the process at once.
 */
export async function runProcess(
  logger: Logger,
  start: (end: (exitCode: number) => void) => Promise<() => Promise<void>>,
  leaveMs = 0,
): Promise<void> {
  let stop: (() => Promise<void>) | undefined;
  let ending = false;
  const end = (exitCode: number): void => {
    if (ending) process.exit(exitCode);
    ending = true;
    setTimeout(() => process.exit(exitCode || 1), STOP_MS + leaveMs).unref();
    void (stop?.() ?? Promise.resolve())
      .catch((error: unknown) => logger.error({ error: messageOf(error) }, 'the stop failed'))
      .finally(() => process.exit(exitCode));
  };
  process.on('SIGTERM', () => end(0));
  process.on('SIGINT', () => end(0));
  process.on('unhandledRejection', (error) => {
    logger.fatal({ error }, 'unhandled rejection');
    process.exit(1);
  });
  try {
    stop = await start(end);
  } catch (error) {
    logger.fatal({ error: messageOf(error) }, messageOf(error));
    process.exit(1);
  }
}
