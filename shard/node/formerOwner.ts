/** The check of a former owner that was replaced as lost. It may have returned meanwhile, and not know yet that it was replaced. */
import { unavailable } from '../../shared/errors/errors.js';
import type { ShardCall, ShardResults } from '../../shared/protocol/calls.js';
import { ask } from '../../shared/protocol/wire.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Lease } from '../answering/lease.js';
import type { CollectionContext } from '../collection/collectionContext.js';

/** Longest wait for an answer. A live shard answers in milliseconds. */
const ANSWERED_WITHIN_MS = 1_000;

interface Services {
  readonly lease: Lease;
  readonly context: Pick<CollectionContext, 'transport' | 'clock'>;
}

/** Resolves if the former owner no longer serves the collection. Throws `unavailable` while it may. */
export async function assertGivenUp(former: string, collectionId: number, services: Services): Promise<void> {
  // Without a heartbeat it has no lease. When it has a lease again, it reads all owner entries before it answers a call.
  if (!(await services.lease.mayRunFor(former))) return;
  const { transport, clock } = services.context;
  const envelope = { requestId: 'take-over', deadlineMs: clock.nowMs() + ANSWERED_WITHIN_MS };
  const asked = <C extends ShardCall>(call: C): Promise<ShardResults[C['op']]> =>
    ask(transport, shardSubject(former), call, envelope);
  const collectionIds = [collectionId];
  await asked({ op: 'adopt', collectionIds });
  const { shown } = await asked({ op: 'readIndex', collectionIds });
  if (shown[0] !== null) throw unavailable(`shard ${former} still serves it`);
}
