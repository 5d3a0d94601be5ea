/** The versions of nats-server that Vouch can rely on. */

/** Servers before it store two messages that are to follow the same one, and answer as leaders before they know what was acknowledged. */
export const OLDEST_NATS_VERSION = '2.12.0';

/** Compares `major.minor.patch`. */
export const isRecentEnough = (version: string): boolean =>
  version.localeCompare(OLDEST_NATS_VERSION, 'en', { numeric: true }) >= 0;
