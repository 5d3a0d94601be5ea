import type { Logger } from '../../shared/logger.js';

const EVERY_MS = 5_000;

/** Says in the log how far a build is; what is over sooner is not mentioned. The returned function ends it. */
export function logProgress(logger: Logger, about: object, progress: () => number): () => void {
  const timer = setInterval(() => {
    logger.info({ ...about, percent: Math.floor(100 * progress()) }, 'an index is on its way');
  }, EVERY_MS).unref();
  return () => clearInterval(timer);
}
