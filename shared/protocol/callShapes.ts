/**
 * Checks the shape of messages before they are read: any program with access to the NATS server can send anything.
 */
import typia from 'typia';
import type { Finite } from '../model/whole.js';
import type { ControlCall, ReadCall, ShardCall } from './calls.js';
import type { WriteCall } from './writes.js';

/** Request id, deadline (unix milliseconds) and call. */
export type SentCall<C> = readonly [requestId: string, deadlineMs: Finite, call: C];
export type AreCalls<C> = (value: unknown) => value is SentCall<C>[];

// Each costs less than a microsecond for a call, and some nanoseconds for each item of a batch.
export const areReads: AreCalls<ReadCall> = typia.createIs<SentCall<ReadCall>[]>();
export const areWrites: AreCalls<WriteCall> = typia.createIs<SentCall<WriteCall>[]>();
export const areControls: AreCalls<ControlCall> = typia.createIs<SentCall<ControlCall>[]>();
export const areShardCalls: AreCalls<ShardCall> = typia.createIs<SentCall<ShardCall>[]>();
