/** What the followers of one shard share. */
import type { ShardCall, ShardResults } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { shardSubject } from '../../shared/subjects.js';
import type { Transport } from '../../shared/transport/transport.js';
import { type Outcome, packCalls, unpackOutcomes, unwrap } from '../../shared/wire.js';
import type { Admission } from '../admission.js';
import type { Answering } from '../answering.js';
import type { DamageReports } from '../damageReports.js';
import type { Openings } from '../openings.js';
import type { Follower } from './follower.js';
import type { FollowMetrics } from './followMetrics.js';

/** An owner that does not answer within this is asked again in the next round. */
const ASK_MS = 1_500;

export interface FollowParts {
  readonly transport: Transport;
  readonly answering: Answering;
  readonly admission: Admission;
  readonly damages: DamageReports;
  readonly openings: Openings;
  readonly metrics: FollowMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A follower whose state may be older than this does not answer. */
  readonly staleMs: number;
}

export interface FollowServices extends FollowParts {
  readonly all: Set<Follower>;
}

export const followServices = (parts: FollowParts): FollowServices => ({
  ...parts,
  all: new Set(),
});

/** Throws what the other shard throws, and `unavailable`. */
export async function askShard<C extends ShardCall>(
  { transport, clock }: FollowParts,
  shard: string,
  call: C,
): Promise<ShardResults[C['op']]> {
  const envelope = { requestId: 'follow', deadlineMs: clock.nowMs() + ASK_MS };
  const answer = await transport.request(shardSubject(shard), packCalls([{ ...envelope, call }]), envelope);
  return unwrap(unpackOutcomes(answer)[0] as Outcome);
}
