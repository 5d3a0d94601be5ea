/**
 * A log that holds less than what is known to have been committed to it. It may verify from its first frame to its last, or
 * be empty: only what is known outside of it tells.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import { countAtHead } from '../../shared/log/logCount.js';
import { Damaged, noticingDamage } from './damaged.js';

const LOOK_EVERY_MS = 500;
export const WHAT_TO_DO = 'put the log back from a copy, or delete the collection and import an export';

/**
 * Throws Damaged where the log ends before event `sequence`, of which `known` says how it is known. Looks again for as long
 * as a server may answer that does not know the newest frames. Costs the read of one frame where it does not.
 */
export async function assertReaches(
  log: Pick<EventLog, 'head' | 'staleMs'>,
  collectionId: number,
  sequence: number,
  known: string,
  clock: Clock,
): Promise<void> {
  const goneMs = clock.monotonicMs() + log.staleMs;
  for (;;) {
    const { sequence: last } = await noticingDamage(() => countAtHead(log, collectionId));
    if (last >= sequence) return;
    if (clock.monotonicMs() >= goneMs) {
      const end = last === 0 ? 'it holds nothing' : `it ends with event ${last}`;
      throw new Damaged(`${end}, but ${known}; ${WHAT_TO_DO}`);
    }
    await delay(LOOK_EVERY_MS);
  }
}
