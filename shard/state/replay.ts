/** Checks of a stored frame around its application, to the present state or to a past one, and the hashes before it. */

import { counted } from '../../shared/errors/counted.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hashing/hash.js';
import { type LogEnd, nextChainHead } from '../../shared/log/chain.js';
import { Damaged } from '../../shared/log/damaged.js';
import { type Event, genesisOf, isUnderKey } from '../../shared/log/event.js';
import { encodeEvent } from '../../shared/log/eventCodec.js';
import type { Position } from '../../shared/log/eventLog.js';
import { type Frame, hashAt, readFrameHeader, verifyFrame } from '../../shared/log/frame.js';
import { isSameActor } from '../../shared/model/actor.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { sliceTurns } from '../../shared/scheduling/slice.js';
import type { CollectionState } from './collectionState.js';

/** Opens the contents of events under keys; see `ContentKeys`. */
export interface ContentOpener {
  open(events: readonly Event[]): Promise<{ forget(): void }>;
  /** Overwrites the key that the event shreds. Call it before past states are forgotten, since they ask for keys at any time. */
  applied(event: Event): void;
}

/** Whether the event writes a row. */
export const takesRow = (event: Event): boolean =>
  event.type === 'insert' || event.type === 'replace' || (isUnderKey(event) && event.content !== null);

/** Throws Damaged if the frame is not whole, or does not continue a log that ends at `before`. */
export async function verifiedFrame(bytes: Uint8Array, before: LogEnd, position: Position): Promise<Frame> {
  try {
    return await verifyFrame(bytes, before, sliceTurns());
  } catch (error) {
    if (error instanceof Malformed) throw new Damaged(`frame at ${position}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Reads the header of an unverified frame. Bytes that are not a frame have no events, and so continue nothing. */
export function claimedEvents(bytes: Uint8Array): { readonly firstSequence: number; readonly events: number } {
  try {
    return readFrameHeader(bytes);
  } catch (error) {
    if (error instanceof Malformed) return { firstSequence: Number.POSITIVE_INFINITY, events: 0 };
    throw error;
  }
}

/**
 * Returns a copy of the config hash of a log's first frame. Throws Damaged if the genesis belongs to another
 * collection.
 */
export function configHashIn(frame: Frame, config: CollectionConfig): Uint8Array {
  const configHash = hashAt(frame.eventHashes, 0);
  const { actor } = frame.events[0] as Event;
  if (Buffer.compare(configHash, configHashOf(config)) !== 0 || !isSameActor(actor, config.createdBy ?? null))
    throw new Damaged('the log belongs to another collection, by its genesis event');
  return configHash.slice();
}

/** Throws Damaged if the state after the whole frame has another number of live records than the frame states. */
export function assertLiveRecords({ liveRecords }: CollectionState, { header }: Frame, position: Position): void {
  if (liveRecords !== header.liveRecords)
    throw new Damaged(
      `frame at ${position}: states ${counted(header.liveRecords, 'live record')} where there are ${liveRecords}`,
    );
}

/** Returns the hash of the genesis event of the collection's log. */
export const configHashOf = (config: CollectionConfig): Uint8Array =>
  hash(Uint8Array.of(DOMAIN.logLeaf, ...encodeEvent(genesisOf(config))));

/** Returns the hashes of a collection without events: those after the genesis that will be written. */
export function emptyHashes(
  config: CollectionConfig,
  state: CollectionState,
): Record<'configHash' | 'chainHead' | 'stateHash', Uint8Array> {
  const configHash = configHashOf(config);
  const chainHead = nextChainHead(EMPTY_HASH, configHash, config.createdBy ?? null);
  const stateHash = state.hash({ configHash, chainHead, sequence: 0, timeMs: config.createdAtMs });
  return { configHash, chainHead, stateHash };
}
