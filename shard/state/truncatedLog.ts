/**
 * Detects a log that has lost committed events. Such a log may verify from its first frame to its last, or be empty. So
 * only knowledge from outside shows the loss.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { type EventLog, FrameUnknown, LOG_START, LogDamaged, type Position } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { countAtHead } from '../../shared/log/logCount.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';

const GENESIS = 0;
export const WHAT_TO_DO = 'put the log back from a copy, or delete the collection and import an export';

/**
 * Throws Damaged if the log ends before event `sequence`. `known` says how that event is known. Repeats the check while
 * a stale replica may answer. Otherwise costs the read of one frame.
 */
export async function assertReaches(
  log: Pick<EventLog, 'head' | 'staleMs'>,
  collectionId: number,
  { sequence, known }: { readonly sequence: number; readonly known: string },
  clock: Clock,
): Promise<void> {
  const goneMs = clock.monotonicMs() + log.staleMs;
  for (;;) {
    const { sequence: last } = await noticingDamage(() => countAtHead(log, collectionId));
    if (last >= sequence) return;
    if (clock.monotonicMs() >= goneMs) {
      const end = last === 0 ? 'it is empty' : `it ends with event ${last}`;
      throw new Damaged(`${end}, but ${known}; ${WHAT_TO_DO}`);
    }
    await delay(RETRY_MS.shortLog);
  }
}

/**
 * Reads a frame that was applied here, or found in the log. Retries while a stale replica may answer. Throws
 * LogDamaged.
 */
export async function readStored(
  log: Pick<EventLog, 'readAt' | 'staleMs'>,
  position: Position,
  clock: Clock,
): Promise<Uint8Array> {
  const goneMs = clock.monotonicMs() + log.staleMs;
  for (;;) {
    try {
      return await log.readAt(position);
    } catch (error) {
      if (!(error instanceof FrameUnknown) || clock.monotonicMs() >= goneMs) throw error;
    }
    await delay(RETRY_MS.shortLog);
  }
}

/**
 * Throws Damaged if the log, which must not be empty, does not begin with its genesis. Throws `unavailable` if a stale
 * replica answers. Costs the read of one frame.
 */
export function assertBegins(log: Pick<EventLog, 'read'>): Promise<void> {
  return noticingDamage(async () => {
    for await (const { bytes } of log.read(LOG_START)) {
      if (firstSequenceIn(bytes) === GENESIS) return;
      throw lostBeginning();
    }
    throw unavailable('the log could not be read; retry shortly');
  });
}

export const lostBeginning = (): Damaged => new Damaged(`it has lost its beginning; ${WHAT_TO_DO}`);

/** Returns undefined if the bytes are not a frame. */
function firstSequenceIn(frame: Uint8Array): number | undefined {
  try {
    return readFrameHeader(frame).firstSequence;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/** Returns undefined if the log has no frame there. */
export async function orGone(frame: Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await frame;
  } catch (error) {
    if (error instanceof LogDamaged) return undefined;
    throw error;
  }
}
