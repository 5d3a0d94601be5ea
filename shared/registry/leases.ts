/** Prefix of the key of a coordinator's presence. */
export const PRESENCE_PREFIX = 'coordinator.';

/** Returns `coordinator <name>` for the key of a presence, undefined for the key of a lease. */
export const coordinatorOf = (key: string): string | undefined =>
  key.startsWith(PRESENCE_PREFIX) ? `coordinator ${key.slice(PRESENCE_PREFIX.length)}` : undefined;

/** The entry by which a coordinator announces itself among the leases. A lease proper has only its `holder`. */
export interface CoordinatorPresence {
  readonly holder: string;
  readonly name: string;
  readonly url: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** Its `PROTOCOL_VERSION`. */
  readonly protocol: number;
}
