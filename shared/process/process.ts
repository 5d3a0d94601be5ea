/** Runs a server process: start, serve until a signal, stop within a time limit. */
import { messageOf } from '../errors/errors.js';
import { OTHERS_MODE } from '../files/durable.js';
import type { Logger } from '../logger.js';
import { watchStalls } from './stalls.js';

/** The longest time of a stop. */
const STOP_MS = 15_000;

/**
 * Runs `start`, waits for SIGTERM, SIGINT or a call of `end`, runs the function that `start` returned, and exits. A failed
 * start prints one line and exits with 1; a second signal exits at once. Files of libraries are for the owner alone.
 * `drainTimeoutMs`: the time that a stop may take beyond the usual.
 */
export async function runProcess(
  logger: Logger,
  start: (end: (exitCode: number) => void) => Promise<() => Promise<void>>,
  drainTimeoutMs = 0,
): Promise<void> {
  process.umask(OTHERS_MODE);
  watchStalls(logger);
  let stop: (() => Promise<void>) | undefined;
  let ending = false;
  const end = (exitCode: number): void => {
    if (ending) process.exit(exitCode);
    ending = true;
    setTimeout(() => process.exit(exitCode || 1), STOP_MS + drainTimeoutMs).unref();
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
