/** A committed frame on its way from the owner to the followers: msgpack `[epoch, position, frame]`. */
import typia from 'typia';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { pack, unpack } from '../../shared/protocol/wire.js';

type FeedMessage = readonly [epoch: number, position: number, frame: Uint8Array];

const isFeedMessage = typia.createIs<FeedMessage>();

/** Copies the frame. */
export const packFeed = (epoch: number, { position, bytes }: StoredFrame): Uint8Array =>
  pack([epoch, position, bytes] satisfies FeedMessage);

/** The frame is a view of `body`. Undefined where it is no such message: every client of the server can publish one. */
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
