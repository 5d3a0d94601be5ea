/** The versions of nats-server that Vouch can rely on. */

/** Oldest version without two faults: two stored messages in one place, and new leaders that lack acknowledged messages. */
export const OLDEST_NATS_VERSION = '2.12.0';

/** Compares `major.minor.patch`. */
export const isRecentEnough = (version: string): boolean =>
  version.localeCompare(OLDEST_NATS_VERSION, 'en', { numeric: true }) >= 0;
