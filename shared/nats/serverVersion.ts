/** The versions of nats-server that Vouch can rely on. */

/** Older servers may store two messages that follow the same one, and new leaders may answer without acknowledged messages. */
export const OLDEST_NATS_VERSION = '2.12.0';

/** Compares `major.minor.patch`. */
export const isRecentEnough = (version: string): boolean =>
  version.localeCompare(OLDEST_NATS_VERSION, 'en', { numeric: true }) >= 0;
