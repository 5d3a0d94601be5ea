/** A committed frame on its way from the owner to the followers: msgpack `[epoch, position, frame]`. */
import typia from 'typia';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { pack, unpack } from '../../shared/protocol/wire.js';

type FeedMessage = readonly [epoch: number, position: number, frame: Uint8Array];

const isFeedMessage = typia.createIs<FeedMessage>();

/** Packs a copy of the frame. */
export const packFeed = (epoch: number, { position, bytes }: StoredFrame): Uint8Array =>
  pack([epoch, position, bytes] satisfies FeedMessage);

/**
 * Unpacks a message; the frame is a view of `body`. Returns undefined for other bytes, which any client of the server
 * can publish.
 */
export function unpackFeed(body: Uint8Array): (StoredFrame & { readonly epoch: number }) | undefined {
  try {
    const message = unpack(body);
    if (!isFeedMessage(message)) return undefined;
    const [epoch, position, bytes] = message;
    return { epoch, position, bytes };
  } catch {
    return undefined;
  }
}
