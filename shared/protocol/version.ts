/**
 * The version of the messages in a cluster: calls and answers, published messages, entries of buckets. Every change that a
 * process of the previous version would misread raises it.
 */
import { type Bucket, entriesOf } from '../bucket/bucket.js';
import type { Clock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import type { Logger } from '../logger.js';
import { whenAvailable } from '../process/startUp.js';
import { speaksAnother } from '../transport/transportErrors.js';

export const PROTOCOL_VERSION = 2;

/** Processes before 0.2 state no version. */
const UNSTATED = 0;

/** The version in a heartbeat or in the presence of a coordinator. */
interface Stated {
  readonly protocol?: number;
}

/** Names the live processes of another version; undefined if all have this one. */
export function otherVersions(live: readonly (readonly [process: string, stated: Stated])[]): string | undefined {
  const others = live
    .map(([process, { protocol = UNSTATED }]) => [process, protocol] as const)
    .filter(([, protocol]) => protocol !== PROTOCOL_VERSION);
  const named = others.sort().map(([process, protocol]) => speaksAnother(process, protocol, PROTOCOL_VERSION));
  return named.length === 0 ? undefined : named.join('; ');
}

/**
 * Waits at the start of a process until all live processes speak this version. The function `nameOf` returns the name of a process
 * by its key; undefined for other keys. Throws `unavailable` with the names of other processes when the time for a start has passed.
 */
export async function untilOneVersion(
  bucket: Bucket,
  nameOf: (key: string) => string | undefined,
  process: { readonly clock: Clock; readonly logger: Logger },
): Promise<void> {
  const check = async (): Promise<void> => {
    const live = (await entriesOf(bucket)).flatMap(({ key, value }) => {
      const name = nameOf(key);
      return name === undefined ? [] : [[name, value as Stated] as const];
    });
    const others = otherVersions(live);
    if (others !== undefined) throw unavailable(others);
  };
  await whenAvailable('all processes to have one version', check, process);
}
