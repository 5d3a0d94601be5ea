/**
 * Whether what came in a message is what a coordinator could have sent. Whoever reaches the NATS server can send
 * anything: a message of another shape is refused whole, before any of it is looked at.
 */
import typia from 'typia';
import type { ControlCall, ReadCall, ShardCall, WriteCall } from './calls.js';

/** Request id, deadline (unix milliseconds) and call. */
export type SentCall<C> = readonly [requestId: string, deadlineMs: number, call: C];
export type AreCalls<C> = (value: unknown) => value is SentCall<C>[];

// Each costs under a microsecond a call, and some nanoseconds for each item of a batch.
export const areReads: AreCalls<ReadCall> = typia.createIs<SentCall<ReadCall>[]>();
export const areWrites: AreCalls<WriteCall> = typia.createIs<SentCall<WriteCall>[]>();
export const areControls: AreCalls<ControlCall> = typia.createIs<SentCall<ControlCall>[]>();
export const areShardCalls: AreCalls<ShardCall> = typia.createIs<SentCall<ShardCall>[]>();
