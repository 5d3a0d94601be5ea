/** A stored frame on its way into a state: of the collection as it is, or of one as it was. The same lines for both. */
import type { CollectionConfig } from '../../shared/calls.js';
import type { LogEnd } from '../../shared/log/chain.js';
import { genesisOf } from '../../shared/log/event.js';
import type { Position } from '../../shared/log/eventLog.js';
import { type Frame, hashAt } from '../../shared/log/frame.js';
import { verifyFrame } from '../../shared/log/frameVerifier.js';
import { Malformed } from '../../shared/malformed.js';
import { nextTurn } from '../pause.js';
import type { CollectionState } from './collectionState.js';
import { Damaged } from './damaged.js';

/** Throws Damaged where the frame is not whole, or does not continue a log that ends at `before`. */
export async function verifiedFrame(bytes: Uint8Array, before: LogEnd, position: Position): Promise<Frame> {
  try {
    return await verifyFrame(bytes, before, nextTurn);
  } catch (error) {
    if (error instanceof Malformed) throw new Damaged(`frame at ${position}: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * The config hash, a copy, of the first frame of a log. Throws Damaged where its genesis is another collection's: it
 * binds the log to this one, events of others do not verify here.
 */
export function configHashIn(frame: Frame, config: CollectionConfig): Uint8Array {
  const [genesis] = frame.events;
  const wanted = genesisOf(config);
  const isOurs =
    genesis?.type === 'genesis' &&
    (Object.keys(wanted) as (keyof typeof wanted)[]).every((field) => genesis[field] === wanted[field]);
  if (!isOurs) throw new Damaged('the log belongs to another collection, by its genesis event');
  return hashAt(frame.eventHashes, 0).slice();
}

/** Throws Damaged where the state, with the whole frame applied, holds another number of records than the frame says. */
export function assertLiveRecords({ liveRecords }: CollectionState, { header }: Frame, position: Position): void {
  if (liveRecords !== header.liveRecords)
    throw new Damaged(`frame at ${position}: says ${header.liveRecords} live records where there are ${liveRecords}`);
}
