/** An owner that was taken for lost. It may have come back before another was named, and does not know of that yet. */
import { unavailable } from '../../shared/errors/errors.js';
import type { ShardCall, ShardResults } from '../../shared/protocol/calls.js';
import { ask } from '../../shared/protocol/wire.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Lease } from '../answering/lease.js';
import type { CollectionContext } from '../collection/collectionContext.js';

/** A shard that lives answers in milliseconds. */
const ANSWERED_WITHIN_MS = 1_000;

interface Services {
  readonly lease: Lease;
  readonly context: Pick<CollectionContext, 'transport' | 'clock'>;
}

/** Resolves when the shard serves the collection no more. Throws `unavailable` while that is not known. */
export async function assertGivenUp(former: string, collectionId: number, services: Services): Promise<void> {
  // Without a heartbeat it has no lease; once it has one again, it hears of all owners before it answers anything.
  if (!(await services.lease.mayRunFor(former))) return;
  const { transport, clock } = services.context;
  const envelope = { requestId: 'take-over', deadlineMs: clock.nowMs() + ANSWERED_WITHIN_MS };
  const asked = <C extends ShardCall>(call: C): Promise<ShardResults[C['op']]> =>
    ask(transport, shardSubject(former), call, envelope);
  const collectionIds = [collectionId];
  await asked({ op: 'adopt', collectionIds });
  const { shown } = await asked({ op: 'readIndex', collectionIds });
  if (shown[0] !== null) throw unavailable(`shard ${former} has not given it up`);
}
