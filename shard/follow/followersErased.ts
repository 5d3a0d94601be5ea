import { setTimeout as delay } from 'node:timers/promises';
import type { Results } from '../../shared/protocol/calls.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { askShard, type FollowServices } from './follower.js';

/**
 * Resolves to the result of a shred when each follower has erased the records too, or is stale. A stale one, whose
 * state is older than `staleMs`, answers nothing. `followers`: their current names.
 */
export async function onceErased(
  services: FollowServices,
  collectionId: number,
  shred: Promise<unknown>,
  followers: () => readonly string[],
): Promise<Results['shredKey']> {
  const { sequence } = (await shred) as Results['shredKey'];
  const { clock, staleMs } = services;
  const untilMs = clock.monotonicMs() + staleMs;
  const question = { op: 'erased', collectionId, sequence } as const;
  const erasedBy = async (shard: string): Promise<void> => {
    while (clock.monotonicMs() < untilMs && followers().includes(shard)) {
      const { isDone } = await askShard(services, shard, question).catch(() => ({ isDone: false }));
      if (isDone) return;
      await delay(RETRY_MS.replica);
    }
  };
  await Promise.all(followers().map(erasedBy));
  return { sequence };
}
