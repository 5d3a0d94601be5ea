/** Reads one collection's frames from a stream that holds many: a few by single reads, many by a delivery. */
import { unavailable } from '../errors.js';
import type { ClusterConnection } from '../natsConnection.js';
import { Delivery, IDLE } from '../natsDelivery.js';
import type { Position, StoredFrame } from './eventLog.js';
import { readAnywhere } from './jetStreamMessages.js';

export interface ReplaySource {
  readonly stream: string;
  readonly subject: string;
}

/** A single read takes a round trip; a delivery takes three to begin and end, and leaves work to the server. */
const SINGLE_READS = 8;

/** The frames of the subject after `after` up to the one at `last`, which is there. Throws VouchError `unavailable`. */
export async function* replay(
  connection: ClusterConnection,
  source: ReplaySource,
  after: Position,
  last: Position,
): AsyncGenerator<StoredFrame, void, undefined> {
  let position = after;
  for (let reads = 0; reads < SINGLE_READS && position < last; reads++) {
    const next = { sequence: position + 1, next: source.subject };
    const frame = await readAnywhere(connection, source.stream, next);
    // A replica that lags does not have it yet; the delivery waits for it.
    if (!frame) break;
    yield { position: frame.position, bytes: frame.bytes };
    position = frame.position;
  }
  if (position < last) yield* deliver(connection, source, position, last);
}

async function* deliver(
  connection: ClusterConnection,
  { stream, subject }: ReplaySource,
  after: Position,
  last: Position,
): AsyncGenerator<StoredFrame, void, undefined> {
  const delivery = await Delivery.start(connection, { stream, subject, from: after + 1 });
  for await (const item of delivery) {
    // Silence before the end: the frame is gone, as the collection may be, or this replica lags by more than a second.
    if (item === IDLE) throw unavailable('the log could not be read to its end; retry shortly');
    yield { position: item.sequence, bytes: item.message.data };
    if (item.sequence >= last) return;
  }
}
